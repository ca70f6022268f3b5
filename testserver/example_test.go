package testserver_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"strings"
	"time"

	"example.com/ftpfetch/testserver"
	"github.com/jlaffaye/ftp"
	"github.com/spf13/afero"
)

// fetch stands in for the client under test.
func fetch(addr, name string, options ...ftp.DialOption) (string, error) {
	c, err := ftp.Dial(addr, append(options, ftp.DialWithTimeout(5*time.Second))...)
	if err != nil {
		return "", err
	}
	defer c.Quit()
	if err := c.Login("anonymous", "me@"); err != nil {
		return "", err
	}
	r, err := c.Retr(name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	return string(b), err
}

func ExampleStart() {
	srv, err := testserver.Start(&testserver.Options{
		Tree: map[string]string{"/pub/motd": "hello"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()

	fmt.Println(fetch(srv.Addr(), "/pub/motd"))
	fmt.Println(strings.Join(srv.Commands()[:2], ", "))
	// Output:
	// hello <nil>
	// USER anonymous, PASS me@
}

func ExampleOptions_fault() {
	srv, err := testserver.Start(&testserver.Options{
		Tree: map[string]string{"/motd": "hello"},
		Fault: func(p testserver.FaultPoint) testserver.Fault {
			if p.Transfer == 1 {
				return testserver.Fault{Data: testserver.Closed, Octets: 3}
			}
			return testserver.Fault{}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()

	fmt.Println(fetch(srv.Addr(), "/motd")) // cut short, and 226 all the same
	fmt.Println(fetch(srv.Addr(), "/motd"))
	// Output:
	// hel <nil>
	// hello <nil>
}

// Who logged in how, and where the server is.
func ExampleServer() {
	srv, err := testserver.Start(&testserver.Options{
		Users:       map[string]string{"me": "secret"},
		NoAnonymous: true,
		Home:        map[string]string{"me": "/home/me"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()

	fmt.Println(srv.URLAs("me:secret", "/motd") == fmt.Sprintf("ftp://me:secret@%s:%d/motd", srv.Host(), srv.Port()))
	fetch(srv.Addr(), "motd")
	fmt.Println(srv.Connections(), "connection:", srv.CommandsFor(1)[:2])
	// Output:
	// true
	// 1 connection: [USER anonymous PASS me@]
}

// A server at work may get other files.
func ExampleServer_FS() {
	srv, err := testserver.Start(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()

	for _, text := range []string{"hello", "goodbye"} {
		if err := afero.WriteFile(srv.FS(), "/motd", []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
		fmt.Println(fetch(srv.Addr(), "/motd"))
	}
	// Output:
	// hello <nil>
	// goodbye <nil>
}

// A TLS server with an authority of its own, which no other program trusts.
func ExampleServer_RootCAs() {
	srv, err := testserver.Start(&testserver.Options{
		TLS:  testserver.TLSRequired,
		Tree: map[string]string{"/motd": "hello"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()

	config := &tls.Config{RootCAs: srv.RootCAs(), ServerName: "localhost"} // RootPEM has it for a program that reads a file
	fmt.Println(fetch(srv.Addr(), "/motd", ftp.DialWithExplicitTLS(config)))
	fmt.Println(len(srv.RootPEM()) > 0)
	// Output:
	// hello <nil>
	// true
}

// What a client costs: round trips and connections. A second file is counted by itself.
func ExampleServer_Stats() {
	srv, err := testserver.Start(&testserver.Options{Tree: map[string]string{"/motd": "hello"}})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()

	fetch(srv.Addr(), "/motd")
	if err := srv.WaitCommand(context.Background(), "QUIT"); err != nil { // its reply is not waited for
		log.Fatal(err)
	}
	fmt.Println(srv.Flights(), "flights,", srv.DataConnections(), "data connection,", srv.Stats().DataOut, "bytes of data")
	srv.ResetCommands()
	fmt.Println(srv.Stats().Connections)
	// Output:
	// 8 flights, 1 data connection, 5 bytes of data
	// 0
}

// Clients do not wait for the reply to QUIT. A test does, before it looks at what was sent.
func ExampleServer_WaitCommand() {
	srv, err := testserver.Start(&testserver.Options{Tree: map[string]string{"/motd": "hello"}})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	fetch(srv.Addr(), "/motd")
	if err := srv.WaitCommand(ctx, "QUIT"); err != nil {
		log.Fatal(err)
	}
	commands := srv.Commands()
	fmt.Println(commands[len(commands)-1])
	// Output: QUIT
}

func ExampleServer_FlightLog() {
	srv, err := testserver.Start(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()

	c, err := ftp.Dial(srv.Addr(), ftp.DialWithDisabledUTF8(true))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Quit()
	if err := c.Login("anonymous", "me@"); err != nil {
		log.Fatal(err)
	}
	for _, f := range srv.FlightLog() {
		fmt.Println(f, "-", len(f.Commands), "command")
	}
	// Output:
	// #1 USER anonymous - 1 command
	// #1 PASS me@ - 1 command
	// #1 FEAT - 1 command
	// #1 TYPE I - 1 command
}
