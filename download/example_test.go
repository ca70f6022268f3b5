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
	"time"

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
	options := download.Options{Progress: func(done, total int64) {
		line = fmt.Sprintf("%d of %d bytes", done, total) // total is -1 if the server does not tell it
	}}
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	if _, err := download.File(context.Background(), &c, u, filepath.Join(dir, "motd"), &options); err != nil {
		log.Fatal(err)
	}
	fmt.Println(line)
	// Output: 8 of 8 bytes
}

// Two more tries, also if the server cannot be reached, and a fixed pause instead of one that doubles.
func ExampleOptions_retries() {
	s, dir := exampleServer(func(p testserver.FaultPoint) testserver.Fault {
		if p.Transfer == 1 {
			return testserver.Fault{Data: testserver.Reset, Octets: 3} // the first transfer breaks
		}
		return testserver.Fault{}
	})
	defer s.Close()
	defer os.RemoveAll(dir)

	u, err := urlparse.Parse(s.URL("/pub/motd"))
	if err != nil {
		log.Fatal(err)
	}
	options := download.Options{
		Retries:      new(2),
		RetryConnect: true,
		Wait: func(ctx context.Context, _ time.Duration) error {
			select {
			case <-time.After(10 * time.Millisecond):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		},
		Notify: func(e download.Event) {
			if e.Kind == download.Retrying {
				fmt.Printf("retry %d of %d\n", e.Try, e.Tries)
			}
		},
	}
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	r, err := download.File(context.Background(), &c, u, filepath.Join(dir, "motd"), &options)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Size, "bytes")
	// Output:
	// retry 1 of 2
	// 8 bytes
}

// exampleServer starts a server with a file, and makes a directory.
func exampleServer(fault func(testserver.FaultPoint) testserver.Fault) (*testserver.Server, string) {
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

// To a writer, with retries from the byte where the transfer broke.
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

// A file that must be the one in the list of digests beside it.
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

// One file over several connections, all files together within a rate.
func ExampleNewLimiter() {
	s, dir := exampleServer(nil)
	defer s.Close()
	defer os.RemoveAll(dir)

	u, err := urlparse.Parse(s.URL("/pub/motd"))
	if err != nil {
		log.Fatal(err)
	}
	const segments = 4
	c := ftpexec.Client{MaxIdle: segments}
	defer c.CloseIdleConnections()
	var src download.Source = &c                                                          // or c.Session() for files one after another, then with Parallel: &c
	options := download.Options{Segments: segments, Limit: download.NewLimiter(10 << 20)} // share it among all Options
	r, err := download.File(context.Background(), src, u, filepath.Join(dir, "motd"), &options)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Size, "bytes")
	// Output: 8 bytes
}

// Anything else that may fail for a while, with the pauses and the patience of a download.
func ExampleRetry() {
	s, dir := exampleServer(func(p testserver.FaultPoint) testserver.Fault {
		if p.Conn < 3 && p.Verb == "" {
			return testserver.Fault{Reply: "421 Come back later.", After: testserver.Closed}
		}
		return testserver.Fault{}
	})
	defer s.Close()
	defer os.RemoveAll(dir)

	u, err := urlparse.Parse(s.URL("/pub/motd"))
	if err != nil {
		log.Fatal(err)
	}
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	ctx := context.Background()
	options := download.Options{Wait: func(context.Context, time.Duration) error { return nil }} // nil waits, longer each time
	err = download.Retry(ctx, &options, func() error {
		info, err := c.Stat(ctx, u)
		if err == nil {
			fmt.Println(info.Size, "bytes")
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Connections(), "connections")
	// Output:
	// 8 bytes
	// 3 connections
}
