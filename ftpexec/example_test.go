package ftpexec_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"slices"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

func exampleServer() *testserver.Server {
	s, err := testserver.Start(&testserver.Options{Tree: map[string]string{"/pub/motd": "hello\n", "/pub/news": "none\n"}})
	if err != nil {
		log.Fatal(err)
	}
	return s
}

func ExampleClient_Open() {
	s := exampleServer()
	defer s.Close()

	var c ftpexec.Client
	r, err := c.Open(context.Background(), local(s, "/pub/motd"))
	if err != nil {
		log.Fatal(err)
	}
	defer r.Body.Close()
	if _, err := io.Copy(os.Stdout, r.Body); err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Size, "bytes")
	// Output:
	// hello
	// 6 bytes
}

func ExampleClient_List() {
	s := exampleServer()
	defer s.Close()

	var c ftpexec.Client
	var names []string
	for entry, err := range c.List(context.Background(), local(s, "/pub/")) {
		if err != nil {
			log.Fatal(err)
		}
		names = append(names, entry.Name)
	}
	slices.Sort(names)
	fmt.Println(names)
	// Output: [motd news]
}

func ExampleClient_Entries() {
	s := exampleServer()
	defer s.Close()

	var c ftpexec.Client
	for e, err := range c.Entries(context.Background(), local(s, "/pub/")) {
		switch {
		case errors.Is(err, ftpexec.ErrLine): // an entry that the server describes in a way of its own
			log.Print(err)
		case err != nil: // the listing failed
			log.Fatal(err)
		case e.Base == "motd":
			fmt.Println(e.Base, e.Mode.IsRegular(), e.Size, e.Precision)
		}
	}
	// Output: motd true 6 1s
}

func ExampleClient_StatAll() {
	s := exampleServer()
	defer s.Close()

	var c ftpexec.Client
	defer c.CloseIdleConnections()
	urls := []*urlparse.URL{local(s, "/pub/motd"), local(s, "/pub/gone"), local(s, "/pub/news")}
	i := 0
	for info, err := range c.StatAll(context.Background(), urls) {
		switch name := urls[i].Name; {
		case errors.Is(err, fs.ErrNotExist): // the next file may be there
			fmt.Println(name, "is missing")
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Println(name, info.Size, "bytes")
		}
		i++
	}
	// Output:
	// motd 6 bytes
	// gone is missing
	// news 5 bytes
}

func ExampleClient_Session() {
	s := exampleServer()
	defer s.Close()

	session := new(ftpexec.Client).Session()
	defer session.Close()
	for _, path := range []string{"/pub/motd", "/pub/news"} {
		r, err := session.Open(context.Background(), local(s, path))
		if err != nil {
			log.Fatal(err)
		}
		if _, err := io.Copy(os.Stdout, r.Body); err != nil {
			log.Fatal(err)
		}
		r.Body.Close()
	}
	fmt.Println(s.Connections(), "connection")
	// Output:
	// hello
	// none
	// 1 connection
}

func ExampleNewPlan() {
	u, err := urlparse.Parse("ftp://myname@host.dom/%2Fetc/motd")
	if err != nil {
		log.Fatal(err)
	}
	plan, err := ftpexec.NewPlan(u)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(plan)
	// Output:
	// CONNECT host.dom:21
	// USER myname
	// PASS <prompt>
	// CWD /etc
	// TYPE I
	// RETR motd
}

// local returns the URL of a path on s. Its port may be one that Parse refuses.
func local(s *testserver.Server, path string) *urlparse.URL {
	u, err := urlparse.Parser{AllowPort: true}.Parse(s.URL(path))
	if err != nil {
		log.Fatal(err)
	}
	return u
}
