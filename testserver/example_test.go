package testserver_test

import (
	"fmt"
	"io"
	"log"
	"strings"
	"time"

	"example.com/ftpfetch/testserver"
	"github.com/jlaffaye/ftp"
)

// fetch stands in for the client under test.
func fetch(addr, name string) (string, error) {
	c, err := ftp.Dial(addr, ftp.DialWithTimeout(5*time.Second))
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
		Fault: func(p *testserver.Conn) testserver.Action {
			if p.Transfer == 1 {
				return testserver.EndDataAfter(3, testserver.Closed)
			}
			return nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()

	fmt.Println(fetch(srv.Addr(), "/motd")) // cut short, but with 226
	fmt.Println(fetch(srv.Addr(), "/motd"))
	// Output:
	// hel <nil>
	// hello <nil>
}
