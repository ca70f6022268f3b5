package testserver_test

import (
	"fmt"
	"io"
	"log"
	"strings"

	"example.com/ftpfetch/testserver"
	"github.com/jlaffaye/ftp"
)

// fetch stands in for the client under test.
func fetch(addr, name string) (string, error) {
	c, err := ftp.Dial(addr)
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

func ExampleStartScript() {
	srv, err := testserver.StartScript(
		testserver.Honest("hello"),
		testserver.OnConn(1, testserver.On("RETR", testserver.Reply("450 Busy."))),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()

	_, err = fetch(srv.Addr(), "motd")
	fmt.Println(err)
	fmt.Println(fetch(srv.Addr(), "motd"))
	// Output:
	// 450 "Busy."
	// hello <nil>
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
		fmt.Println(f)
	}
	// Output:
	// #1 USER anonymous
	// #1 PASS me@
	// #1 FEAT
	// #1 TYPE I
}
