package ftpexec_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"sync"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// A server whose certificate comes from an authority of one's own.
func ExampleClient_tls() {
	s, err := testserver.Start(&testserver.Options{TLS: testserver.TLSRequired, Tree: map[string]string{"/motd": "hello\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	authority := s.RootPEM() // in a program: os.ReadFile("authority.pem")

	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		log.Fatal("no certificate in authority.pem")
	}
	c := ftpexec.Client{TLSConfig: &tls.Config{RootCAs: roots}}
	defer c.CloseIdleConnections()
	r, err := c.Get(context.Background(), s.URL("/motd")) // ftpes://...; for ftp:// URLs there is no TLS
	if err != nil {
		log.Fatal(err)
	}
	defer r.Body.Close()
	if _, err := io.Copy(os.Stdout, r.Body); err != nil {
		log.Fatal(err)
	}
	// Output: hello
}

// Many files over a pool of connections. To save them, see package download/batch.
func ExampleClient_maxIdle() {
	tree := map[string]string{}
	for i := range 100 {
		tree[fmt.Sprintf("/pub/%d", i)] = "some bytes"
	}
	s, err := testserver.Start(&testserver.Options{Tree: tree})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	const jobs = 4
	c := ftpexec.Client{MaxIdle: jobs} // as many connections as goroutines
	defer c.CloseIdleConnections()
	names := make(chan string)
	var group sync.WaitGroup
	for range jobs {
		group.Go(func() {
			for name := range names {
				if err := discard(&c, s.URL(name)); err != nil {
					log.Print(name, ": ", err)
				}
			}
		})
	}
	for name := range tree {
		names <- name
	}
	close(names)
	group.Wait()
	fmt.Println("no more than 4 connections:", s.Connections() <= jobs)
	// Output: no more than 4 connections: true
}

// discard retrieves a file and closes it, so that c can use the connection again.
func discard(c *ftpexec.Client, rawURL string) error {
	u, err := urlparse.Parse(rawURL)
	if err != nil {
		return err
	}
	r, err := c.Do(context.Background(), &ftpexec.Request{URL: u})
	if err != nil {
		return err
	}
	defer r.Body.Close()
	_, err = io.Copy(io.Discard, r.Body)
	return err
}

// The commands of a retrieval in a log. No text holds a password, and slog's handlers escape what a terminal would take
// for more than text.
func ExampleClient_trace() {
	s := exampleServer()
	defer s.Close()

	undated := func(_ []string, a slog.Attr) slog.Attr { // so that the output is the same in every run
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: undated}))
	c := ftpexec.Client{MaxIdle: -1, Trace: func(e ftpexec.Event) {
		if e.Mark == '>' {
			log.Info("ftp", "command", e.Text, "flight", e.Flight)
		}
	}}
	if _, err := c.Stat(context.Background(), local(s, "/pub/motd")); err != nil {
		panic(err)
	}
	// Output:
	// level=INFO msg=ftp command="USER anonymous" flight=1
	// level=INFO msg=ftp command="PASS <anonymous>" flight=1
	// level=INFO msg=ftp command="CWD pub" flight=1
	// level=INFO msg=ftp command="TYPE I" flight=1
	// level=INFO msg=ftp command="SIZE motd" flight=1
	// level=INFO msg=ftp command="MDTM motd" flight=1
	// level=INFO msg=ftp command=QUIT flight=2
}
