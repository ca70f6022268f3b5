package testserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"

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
