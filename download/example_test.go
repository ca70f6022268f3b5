package download_test

import (
	"context"
	"fmt"
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
