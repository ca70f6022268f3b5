package ftpexec_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"

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

func ExampleClient_Do() {
	s := exampleServer()
	defer s.Close()

	var c ftpexec.Client
	r, err := c.Do(context.Background(), &ftpexec.Request{URL: local(s, "/pub/motd")})
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
	u, err := urlparse.Parse(s.URL(path))
	if err != nil {
		log.Fatal(err)
	}
	return u
}

// The rest of a file of which the first bytes are there, if the server still has the same file. Package download does
// this, with checksums of what is there.
func ExampleRequest_offset() {
	s := exampleServer()
	defer s.Close()

	have, size := []byte("he"), int64(6) // from an earlier, interrupted transfer
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	r, err := c.Do(context.Background(), &ftpexec.Request{URL: local(s, "/pub/motd"), Offset: int64(len(have))})
	if errors.Is(err, ftpexec.ErrNoRestart) {
		log.Fatal("start over, with Open")
	}
	if err != nil {
		log.Fatal(err)
	}
	defer r.Body.Close()
	if r.Size != size {
		log.Fatal("the file has changed: start over")
	}
	rest, err := io.ReadAll(r.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s from byte %d on: %q\n", have, r.Offset, rest)
	// Output: he from byte 2 on: "llo\n"
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
