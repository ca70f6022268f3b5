package testserver_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// start starts a script and stops the program if that fails.
func start(steps ...testserver.Step) *testserver.Script {
	srv, err := testserver.StartScript(steps...)
	if err != nil {
		log.Fatal(err)
	}
	return srv
}

func ExampleStartScript() {
	srv, err := testserver.StartScript(
		testserver.Honest("hello"),
		testserver.OnConn(1, testserver.On("RETR", testserver.Reply("450 Busy."))),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()

	for range 2 {
		fmt.Println(get(&ftpexec.Client{MaxIdle: -1}, srv.URL("/motd")))
	}
	// Output:
	// 450 Busy.
	// hello
}

// An Action of one's own: it answers with what was asked.
func ExampleAction() {
	var really testserver.Action = func(c *testserver.Conn) error {
		_, err := fmt.Fprintf(c, "550 %s, really?\r\n", c.Line())
		return err
	}
	srv := start(testserver.Honest("hello").With("RETR", really))
	defer srv.Close()

	fmt.Println(get(&ftpexec.Client{MaxIdle: -1}, srv.URL("/motd")))
	// Output: 550 RETR motd, really?
}

// An Action that sends data of its own.
func ExampleConn_Data() {
	count := func(c *testserver.Conn) error {
		for i := range 3 {
			if _, err := fmt.Fprintf(c.Data(), "%d ", i); err != nil {
				return err
			}
		}
		_, err := c.Write([]byte("150-It is coming.\r\n150 Soon.\r\n"))
		return err
	}
	srv := start(testserver.Honest("0 1 2 ").With("RETR", count, testserver.CloseData(), testserver.Reply("226 Done.")))
	defer srv.Close()

	fmt.Println(get(&ftpexec.Client{MaxIdle: -1}, srv.URL("/numbers")))
	// Output: 0 1 2
}

// A Step of one's own: every second connection finds the server full.
func ExampleDialogue() {
	full := func(d *testserver.Dialogue) {
		if d.Number()%2 == 0 {
			testserver.Greet(testserver.Reply("421 Too many connections."), testserver.CloseConn())(d)
		}
	}
	srv := start(testserver.Honest("hello"), full)
	defer srv.Close()

	for range 3 {
		fmt.Println(get(&ftpexec.Client{MaxIdle: -1}, srv.URL("/motd")))
	}
	// Output:
	// hello
	// 421 Too many connections.
	// hello
}

// The second RETR of a connection is lost, with the connection. This client then tries a new one.
func ExampleOnNth() {
	srv := start(testserver.Honest("hello"), testserver.OnNth(2, "RETR", testserver.ResetConn()))
	defer srv.Close()

	var c ftpexec.Client // keeps the connection
	defer c.CloseIdleConnections()
	for range 2 {
		fmt.Println(get(&c, srv.URL("/motd")))
	}
	fmt.Println(srv.Connections(), "connections")
	// Output:
	// hello
	// hello
	// 2 connections
}

// A transfer by hand: an answer to EPSV and PASV, and what happens on the data connection. Transfer has the usual.
func ExampleOpenDataAs() {
	srv := start(
		testserver.Honest("hello"),
		testserver.On("EPSV", testserver.Reply("500 What?")),
		testserver.On("PASV", testserver.OpenDataAs("227 Hier entlang: 127,0,0,1,{hi},{lo}")), // without parentheses
		testserver.On("RETR", testserver.AcceptData(), testserver.Reply("150 Here."), testserver.SendData("hello"), testserver.CloseData(), testserver.Reply("226 Done.")),
		testserver.OnConn(2, testserver.On("PASV", testserver.OpenData()), testserver.On("RETR", testserver.Transfer("HELLO")...)),
	)
	defer srv.Close()

	c := ftpexec.Client{MaxIdle: -1} // a new connection each time
	for range 2 {
		fmt.Println(get(&c, srv.URL("/motd")))
	}
	// Output:
	// hello
	// HELLO
}

// Ends of a data connection that all look like the end of the file. Only with the final reply and the size a client
// can tell. StallData and EndlessData have no end: a client needs a timeout there, and a limit for listings.
func ExampleCutData() {
	for name, end := range map[string]testserver.Action{
		"closed": testserver.CloseData(),
		"cut":    testserver.CutData(),
		"reset":  testserver.ResetData(),
	} {
		srv := start(testserver.Honest("hello, world").With("RETR",
			testserver.Reply("150 Here."), testserver.SendData("hello"), end, testserver.Reply("226 Done.")))
		fmt.Println(name+":", get(&ftpexec.Client{MaxIdle: -1}, srv.URL("/motd")))
		srv.Close()
	}
	// Unordered output:
	// closed: transfer incomplete
	// cut: transfer incomplete
	// reset: connection lost
}

// What takes a client's time or memory until it gives up by itself.
func ExampleEndless() {
	line := func(i int) string { return fmt.Sprintf("220-line %d\r\n", i) }
	srv := start(
		testserver.Honest("hello"),
		testserver.OnConn(1, testserver.Greet(testserver.Endless(line))),
		testserver.OnConn(2, testserver.On("RETR", testserver.Reply("150 Here."), testserver.EndlessData(line), testserver.Reply("226 Done."))),
		testserver.OnConn(3, testserver.Greet(testserver.Trickle("220 Byte by byte."))),
		testserver.OnConn(4, testserver.Greet(testserver.ReplyBytes([]byte("220 without a line end")), testserver.Silence())),
		testserver.OnConn(5, testserver.On("RETR", testserver.Reply("150 Here."), testserver.StallData(), testserver.Reply("226 Done."))),
	)
	defer srv.Close()

	patient := ftpexec.Client{MaxIdle: -1}
	for range 3 {
		fmt.Println(get(&patient, srv.URL("/motd")))
	}
	fmt.Println(get(&ftpexec.Client{MaxIdle: -1, ReplyTimeout: 50 * time.Millisecond}, srv.URL("/motd")))
	fmt.Println(get(&ftpexec.Client{MaxIdle: -1, StallTimeout: 50 * time.Millisecond}, srv.URL("/motd")))
	// Output:
	// reply makes no sense
	// transfer incomplete
	// hello
	// timed out
	// timed out
}

// TLS by hand: with AUTH, and from the first byte. Honest has the former.
func ExampleStartTLS() {
	srv := start(
		testserver.Honest("hello").
			With("AUTH", testserver.Reply("234 Go on."), testserver.StartTLS()).
			With("PROT", testserver.Protect(), testserver.Reply("200 Done.")),
		testserver.OnConn(2, testserver.ImplicitTLS()),
	)
	defer srv.Close()

	c := ftpexec.Client{MaxIdle: -1, TLSConfig: &tls.Config{RootCAs: srv.RootCAs()}}
	fmt.Println(get(&c, "ftpes://"+srv.Addr()+"/motd"))
	fmt.Println(get(&c, "ftps://"+srv.Addr()+"/motd"))
	// Output:
	// hello
	// hello
}

// Servers that do not bear two commands at once: one drops the second, one hangs up.
func ExampleDiscardInput() {
	srv := start(
		testserver.Honest("hello"),
		testserver.OnConn(1, testserver.On("NOOP", testserver.DiscardInput(), testserver.Reply("200 Done."))),
		testserver.OnConn(2, testserver.On("NOOP", testserver.CloseIfMore(), testserver.Reply("200 Done."))),
	)
	defer srv.Close()

	for range 2 {
		conn, err := net.Dial("tcp", srv.Addr())
		if err != nil {
			log.Fatal(err)
		}
		replies := bufio.NewReader(conn)
		replies.ReadString('\n') // the greeting
		fmt.Fprint(conn, "NOOP\r\nPWD\r\n")
		reply, err := replies.ReadString('\n')
		fmt.Printf("%q %v\n", reply, err)
		conn.Close()
	}
	fmt.Println(srv.CommandsFor(1), srv.CommandsFor(2))
	// Output:
	// "200 Done.\r\n" <nil>
	// "" EOF
	// [NOOP PWD] [NOOP PWD]
}

// Something that happens while the client waits: here the user presses Ctrl-C.
func ExampleCall() {
	ctx, cancel := context.WithCancelCause(context.Background())
	interrupt := errors.New("interrupted")
	srv := start(testserver.Honest("hello").With("RETR", testserver.Call(func() { cancel(interrupt) }), testserver.Silence()))
	defer srv.Close()

	var c ftpexec.Client
	defer c.CloseIdleConnections()
	_, err := c.Get(ctx, srv.URL("/motd"))
	fmt.Println(errors.Is(err, interrupt))
	// Output: true
}

// A client and a server without sockets. In a testing/synctest bubble their waits take no real time; there
// Network.NewScript gives the server of a script.
func ExampleNewNetwork() {
	network := testserver.NewNetwork()
	listener, err := network.Listen()
	if err != nil {
		log.Fatal(err)
	}
	defer listener.Close()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "421 Closed on Sundays.\r\n")
	}()

	c := ftpexec.Client{Dial: network.Dial}
	_, err = c.Get(context.Background(), "ftp://"+listener.Addr().String()+"/motd")
	var e *ftpexec.Error
	if errors.As(err, &e) {
		fmt.Println(e.Reply)
	}
	// Output: 421 Closed on Sundays.
}

// get retrieves a file by another client, and returns its contents or what went wrong.
func get(c *ftpexec.Client, rawURL string) string {
	r, err := c.Get(context.Background(), rawURL)
	if err != nil {
		return cause(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return cause(err)
	}
	return string(text)
}

func cause(err error) string {
	for _, known := range []error{ftpexec.ErrTruncated, ftpexec.ErrLost, ftpexec.ErrTimeout, ftpexec.ErrProtocol} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	var e *ftpexec.Error
	if errors.As(err, &e) && e.Reply != nil {
		return e.Reply.String()
	}
	return err.Error()
}
