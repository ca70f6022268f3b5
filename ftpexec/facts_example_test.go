package ftpexec_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// The rest of a file of which the first bytes are there, if the server still has the same file. Package download does
// this, with checksums of what is there.
func ExampleClient_OpenFrom() {
	s := exampleServer()
	defer s.Close()

	have, size := []byte("he"), int64(6) // from an earlier, interrupted transfer
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	r, err := c.OpenFrom(context.Background(), local(s, "/pub/motd"), int64(len(have)))
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

	c := ftpexec.Client{ReplyTimeout: 10 * time.Minute} // the server reads the whole file before it replies
	defer c.CloseIdleConnections()
	for _, algorithm := range []string{"sha512", "sha256", "md5"} {
		sum, err := c.Hash(context.Background(), local(s, "/%2Fpub%2Fmotd"), algorithm)
		if errors.Is(err, ftpexec.ErrNoHash) {
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
	r, err := c.Open(context.Background(), local(s, "/pub/motd"))
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
