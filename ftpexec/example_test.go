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
	"strings"
	"time"

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

func ExampleClient_Stat() {
	modified := time.Date(2020, 2, 29, 12, 0, 0, 0, time.UTC)
	s, err := testserver.Start(&testserver.Options{Tree: map[string]string{"/pub/motd": "hello\n"}, ModTime: modified})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	var c ftpexec.Client
	defer c.CloseIdleConnections()
	info, err := c.Stat(context.Background(), local(s, "/pub/motd"))
	if err != nil {
		log.Fatal(err)
	}
	if info.Size >= 0 { // the server may not tell it
		fmt.Println(info.Size, "bytes")
	}
	if !info.ModTime.IsZero() {
		fmt.Println(info.ModTime)
	}
	// Output:
	// 6 bytes
	// 2020-02-29 12:00:00 +0000 UTC
}

func ExampleClient_Hash() {
	s := exampleServer()
	defer s.Close()

	c := ftpexec.Client{Timeout: 10 * time.Minute} // the server reads the whole file before it replies
	defer c.CloseIdleConnections()
	for _, algorithm := range []string{"sha512", "sha256", "md5"} {
		sum, err := c.Hash(context.Background(), local(s, "/%2Fpub%2Fmotd"), algorithm)
		if errors.Is(err, errors.ErrUnsupported) {
			continue // the server may know the next one
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %x...\n", algorithm, sum[:8])
		break
	}
	// Output: sha512: e7c22b994c59d9cf...
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

// How much of a file has come, while another goroutine reads it. Package download calls a function instead.
func ExampleResponse_Received() {
	s := exampleServer()
	defer s.Close()

	var c ftpexec.Client
	defer c.CloseIdleConnections()
	r, err := c.Do(context.Background(), &ftpexec.Request{URL: local(s, "/pub/motd")})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Body.Close()
	done := make(chan error)
	go func() {
		_, err := io.Copy(os.Stdout, r.Body)
		done <- err
	}()
	for tick := time.Tick(time.Second); ; {
		select {
		case <-tick:
			log.Printf("%d of %d bytes", r.Received(), r.Size)
			continue
		case err = <-done:
		}
		break
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("all", r.Received(), "bytes")
	// Output:
	// hello
	// all 6 bytes
}

func ExampleClient_Session() {
	s := exampleServer()
	defer s.Close()

	session := new(ftpexec.Client).Session()
	defer session.Close()
	for _, path := range []string{"/pub/motd", "/pub/news"} {
		r, err := session.Do(context.Background(), &ftpexec.Request{URL: local(s, path)})
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

// What a Client does, a Session does on one connection: here it shows the ends of the larger files of a directory.
func ExampleSession() {
	s, err := testserver.Start(&testserver.Options{Tree: map[string]string{
		"/log/old.log": strings.Repeat(".", 5000) + "the end\n", "/log/new.log": "begun\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	const tail = 8 // bytes
	ctx := context.Background()
	session := new(ftpexec.Client).Session()
	defer session.Close()
	for entry, err := range session.Entries(ctx, local(s, "/log/")) {
		if err != nil {
			log.Fatal(err)
		}
		info, err := session.Stat(ctx, entry.URL) // a listing may have no size, or an old one
		if err != nil {
			log.Fatal(err)
		}
		if info.Size < 1000 {
			continue
		}
		r, err := session.Do(ctx, &ftpexec.Request{URL: entry.URL, Offset: info.Size - tail})
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
	// the end
	// 1 connection
}

// Sizes first, in few round trips, then the digest of one file.
func ExampleSession_StatAll() {
	s := exampleServer()
	defer s.Close()

	ctx := context.Background()
	session := new(ftpexec.Client).Session()
	defer session.Close()
	var urls []*urlparse.URL
	for entry, err := range session.List(ctx, local(s, "/pub/")) {
		if err != nil {
			log.Fatal(err)
		}
		urls = append(urls, entry.URL)
	}
	var total int64
	for info, err := range session.StatAll(ctx, urls) {
		if err != nil {
			log.Fatal(err)
		}
		total += info.Size
	}
	fmt.Println(len(urls), "files,", total, "bytes")
	sum, err := session.Hash(ctx, local(s, "/%2Fpub%2Fmotd"), "md5")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%x\n", sum)
	// Output:
	// 2 files, 11 bytes
	// b1946ac92492d2347c6235b4d2611184
}

// A file that is followed by another one, on the same connection, saves a round trip.
func ExampleRequest() {
	s := exampleServer()
	defer s.Close()

	urls := []*urlparse.URL{local(s, "/pub/motd"), local(s, "/pub/news")}
	session := new(ftpexec.Client).Session()
	defer session.Close()
	for i, u := range urls {
		more := func() bool { return i+1 < len(urls) } // asked when all bytes have come
		r, err := session.Do(context.Background(), &ftpexec.Request{URL: u, More: more})
		if err != nil {
			log.Fatal(err)
		}
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(n, "bytes,", r.Received(), "of them on the wire")
		r.Body.Close()
	}
	// Output:
	// 6 bytes, 6 of them on the wire
	// 5 bytes, 5 of them on the wire
}
