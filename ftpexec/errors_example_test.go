package ftpexec_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"syscall"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// The errors that a program may want to tell apart, each from a server that gives cause for it.
func ExampleError() {
	explain := func(err error) string {
		var dns *net.DNSError
		switch {
		case errors.Is(err, fs.ErrNotExist): // also ftpexec.ErrNotFound
			return "no such file"
		case errors.Is(err, fs.ErrPermission):
			return "the server does not allow it"
		case errors.Is(err, ftpexec.ErrTooMany):
			return "too many connections: try again later"
		case errors.Is(err, syscall.ECONNREFUSED):
			return "no server on this port"
		case errors.As(err, &dns):
			return "no such host: " + dns.Name
		case errors.Is(err, context.DeadlineExceeded):
			return "no time left"
		default:
			return err.Error()
		}
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	urls, stop := exampleFailures()
	defer stop()
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	for _, url := range urls {
		r, err := c.Get(ctx, url)
		if err != nil {
			fmt.Println(explain(err))
			continue
		}
		r.Body.Close()
	}
	// Output:
	// no such file
	// the server does not allow it
	// too many connections: try again later
	// no server on this port
}

// exampleFailures returns URLs that cannot be retrieved, and what stops their servers.
func exampleFailures() (urls []string, stop func()) {
	var servers []*testserver.Server
	for _, faults := range []map[string]testserver.Fault{
		{"SIZE": {Reply: "550 No such file."}, "RETR": {Reply: "550 No such file."}},
		{"RETR": {Reply: "550 Permission denied."}},
		{"": {Reply: "421 Too many connections.", After: testserver.Closed}},
		nil, // closed below, so that nothing answers
	} {
		s, err := testserver.Start(&testserver.Options{Tree: map[string]string{"/file": "contents"},
			Fault: func(p testserver.FaultPoint) testserver.Fault { return faults[p.Verb] }})
		if err != nil {
			log.Fatal(err)
		}
		servers = append(servers, s)
		urls = append(urls, s.URL("/file"))
	}
	servers[3].Close()
	return urls, func() {
		for _, s := range servers[:3] {
			s.Close()
		}
	}
}
