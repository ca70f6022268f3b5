package ftpexec_test

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// local returns the URL of a path on s. Its port may be one that Parse refuses.
func local(s *testserver.Server, path string) *urlparse.URL {
	u, err := urlparse.Parser{AllowPort: true}.Parse(s.URL(path))
	if err != nil {
		log.Fatal(err)
	}
	return u
}
