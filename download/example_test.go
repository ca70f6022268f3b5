package download_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

func ExampleFile() {
	s, dir := exampleServer(nil)
	defer s.Close()
	defer os.RemoveAll(dir)

	u, err := urlparse.Parse(s.URL("/pub/motd"))
	if err != nil {
		log.Fatal(err)
	}
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	r, err := download.File(context.Background(), &c, u, filepath.Join(dir, "motd"), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Size, "bytes")
	// Output: 8 bytes
}

func ExampleOptions_progress() {
	s, dir := exampleServer(nil)
	defer s.Close()
	defer os.RemoveAll(dir)

	u, err := urlparse.Parse(s.URL("/pub/motd"))
	if err != nil {
		log.Fatal(err)
	}
	var line string // a program would print it each time
	options := download.Options{Events: func(e download.Event) {
		if e.Kind == download.Progress {
			line = fmt.Sprintf("%d of %d bytes", e.Done, e.Total) // Total is -1 if the server does not report it
		}
	}}
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	if _, err := download.File(context.Background(), &c, u, filepath.Join(dir, "motd"), &options); err != nil {
		log.Fatal(err)
	}
	fmt.Println(line)
	// Output: 8 of 8 bytes
}

// exampleServer starts a server with one file, and makes a directory to save it in.
func exampleServer(fault func(*testserver.Conn) testserver.Action) (*testserver.Server, string) {
	s, err := testserver.Start(&testserver.Options{Tree: map[string]string{"/pub/motd": "welcome\n"}, Fault: fault})
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	return s, dir
}

// Write a file to a writer. If the transfer breaks, To continues at the byte where it stopped.
func ExampleTo() {
	s, dir := exampleServer(nil)
	defer s.Close()
	defer os.RemoveAll(dir)

	u, err := urlparse.Parse(s.URL("/pub/motd"))
	if err != nil {
		log.Fatal(err)
	}
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	var b bytes.Buffer
	if _, err := download.To(context.Background(), &c, u, &b, nil); err != nil {
		log.Fatal(err) // b may hold the start of the file
	}
	fmt.Print(b.String())
	// Output: welcome
}

// Verify a file by the list of digests beside it.
func ExampleOptions_verify() {
	s, err := testserver.Start(&testserver.Options{Tree: map[string]string{
		"/pub/motd": "welcome\n", "/pub/MD5SUMS": "0bb3c30dc72e63881db5005f1aa19ac3  motd\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	u, err := urlparse.Parse(s.URL("/pub/motd"))
	if err != nil {
		log.Fatal(err)
	}
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	r, err := download.To(context.Background(), &c, u, io.Discard, &download.Options{Verify: true})
	switch {
	case errors.Is(err, download.ErrUnverified):
		log.Fatal("the server has no digest")
	case err != nil: // ErrDigest among others
		log.Fatal(err)
	}
	fmt.Println(r.Verified)
	// Output: md5 in MD5SUMS
}
