package ftpexec_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

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
		r, err := session.OpenFrom(ctx, entry.URL, info.Size-tail)
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
func ExampleResponse_Follows() {
	s := exampleServer()
	defer s.Close()

	urls := []*urlparse.URL{local(s, "/pub/motd"), local(s, "/pub/news")}
	session := new(ftpexec.Client).Session()
	defer session.Close()
	for i, u := range urls {
		r, err := session.Open(context.Background(), u)
		if err != nil {
			log.Fatal(err)
		}
		r.Follows(func() bool { return i+1 < len(urls) }) // asked when all bytes have come
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
