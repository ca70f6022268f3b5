package testserver_test

import (
	"fmt"
	"io"
	"log"
	"testing/fstest"
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

// In a test, New takes the place of Start, and closes the server.
func Example() {
	srv, err := testserver.Start(&testserver.Options{Tree: map[string]string{"/pub/motd": "hello"}})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()

	fmt.Println(fetch(srv.Addr(), "/pub/motd"))
	fmt.Println(srv.Args("USER"), srv.Args("RETR"), srv.AfterQuit())
	// Output:
	// hello <nil>
	// [anonymous] [/pub/motd] []
}

// Any fs.FS can be served, here over a slow link.
func ExampleOptions_link() {
	srv, err := testserver.Start(&testserver.Options{
		FS:      fstest.MapFS{"pub/motd": &fstest.MapFile{Data: []byte("hello")}},
		Latency: 5 * time.Millisecond, // a round trip
		Rate:    1000,                 // bytes a second on each data connection
	})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()

	begun := time.Now()
	fmt.Println(fetch(srv.Addr(), "/pub/motd"))
	fmt.Println(time.Since(begun) > 25*time.Millisecond)
	// Output:
	// hello <nil>
	// true
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
