package ftpexec_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"net"
	"net/url"
	"os"
	"sync"
	"syscall"

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
		case e.Name == "motd":
			fmt.Println(e.Name, e.Mode.IsRegular(), e.Size, e.Precision)
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

// Retrieve the rest of a file whose first bytes are there, if the server still has the same file. Package download does
// this, with checksums of the bytes that are there.
func ExampleRequest_offset() {
	s := exampleServer()
	defer s.Close()

	have, size := []byte("he"), int64(6) // from an earlier, interrupted transfer
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	r, err := c.Do(context.Background(), &ftpexec.Request{URL: local(s, "/pub/motd"), Offset: int64(len(have))})
	if errors.Is(err, ftpexec.ErrNoRestart) {
		log.Fatal("start over")
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
	fmt.Printf("%s from byte %d on: %q\n", have, len(have), rest)
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

func ExamplePlan() {
	u, err := urlparse.Parse("ftp://myname@host.dom/%2Fetc/motd")
	if err != nil {
		log.Fatal(err)
	}
	plan, err := ftpexec.Plan(u)
	if err != nil {
		log.Fatal(err)
	}
	for _, command := range plan {
		fmt.Println(command)
	}
	// Output:
	// CONNECT host.dom:21
	// USER myname
	// PASS <prompt>
	// CWD /etc
	// TYPE I
	// RETR motd
}

func ExampleClient_credentials() {
	s, err := testserver.Start(&testserver.Options{Users: map[string]string{"me": "secret"}, Tree: map[string]string{"/motd": "hello\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	// A program may ask a person instead: the server has asked for it already.
	passwords := map[string]string{"me@127.0.0.1": "secret"}
	c := ftpexec.Client{Credentials: func(_ context.Context, host, user, what string) (string, error) {
		if password, ok := passwords[user+"@"+host]; ok && what == "password" { // hardly any server asks for an account
			return password, nil
		}
		return "", ftpexec.ErrNoCredentials
	}}
	defer c.CloseIdleConnections()
	r, err := c.Get(context.Background(), s.URL("me@/motd")) // ftp://me@127.0.0.1...
	if err != nil {
		log.Fatal(err)
	}
	defer r.Body.Close()
	if _, err := io.Copy(os.Stdout, r.Body); err != nil {
		log.Fatal(err)
	}
	// Output: hello
}

// Trust a server whose certificate comes from a private authority.
func ExampleClient_tls() {
	s, err := testserver.Start(&testserver.Options{Scheme: "ftpes", Tree: map[string]string{"/motd": "hello\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	roots := s.RootCAs() // in a program: x509.NewCertPool() and AppendCertsFromPEM
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

// Many files over a pool of connections. To save them, see download.Run.
func ExampleClient_maxIdle() {
	s := exampleServer()
	defer s.Close()

	const jobs = 4
	c := ftpexec.Client{MaxIdle: jobs} // as many connections as goroutines
	defer c.CloseIdleConnections()
	urls := make(chan string)
	var group sync.WaitGroup
	for range jobs {
		group.Go(func() {
			for url := range urls {
				r, err := c.Get(context.Background(), url)
				if err != nil {
					log.Print(err)
					continue
				}
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					log.Print(err)
				}
				r.Body.Close() // so that c can use the connection again
			}
		})
	}
	for range 50 {
		urls <- s.URL("/pub/motd")
		urls <- s.URL("/pub/news")
	}
	close(urls)
	group.Wait()
	fmt.Println("no more than 4 connections:", s.Connections() <= jobs)
	// Output: no more than 4 connections: true
}

// Trace the commands of a retrieval. No text contains a password. Escape a text before it goes to a terminal.
func ExampleClient_trace() {
	s := exampleServer()
	defer s.Close()

	c := ftpexec.Client{MaxIdle: -1, Trace: &ftpexec.Trace{Command: func(e ftpexec.CommandInfo) {
		mark := ">"
		if e.Joined {
			mark = ">>"
		}
		fmt.Printf("%s %q\n", mark, e.Text)
	}}}
	if _, err := c.Stat(context.Background(), local(s, "/pub/motd")); err != nil {
		log.Fatal(err)
	}
	// Output:
	// > "USER anonymous"
	// >> "PASS <anonymous>"
	// >> "CWD pub"
	// >> "TYPE I"
	// >> "SIZE motd"
	// >> "MDTM motd"
	// > "QUIT"
}

// Trace one call: others of the same Client may run at once.
func ExampleWithTrace() {
	s := exampleServer()
	defer s.Close()

	var c ftpexec.Client
	defer c.CloseIdleConnections()
	for range 2 {
		trips := 0
		trace := &ftpexec.Trace{
			GotConn: func(e ftpexec.ConnInfo) { fmt.Println("connection", e.Conn, "reused:", e.Reused) },
			Command: func(e ftpexec.CommandInfo) {
				if !e.Joined {
					trips++
				}
			},
			Transferred: func(e ftpexec.TransferInfo) { fmt.Println(e.Bytes, "bytes", e.Err) },
		}
		r, err := c.Get(ftpexec.WithTrace(context.Background(), trace), s.URL("/pub/motd"))
		if err != nil {
			log.Fatal(err)
		}
		_, err = io.Copy(io.Discard, r.Body)
		fmt.Println(trips, "round trips of commands", err)
		r.Body.Close()
	}
	for _, server := range c.Stats() {
		fmt.Println(server.Connections, "connection,", server.Logins, "login")
	}
	// Output:
	// connection 1 reused: false
	// 6 bytes <nil>
	// 3 round trips of commands <nil>
	// connection 1 reused: true
	// 6 bytes <nil>
	// 2 round trips of commands <nil>
	// 1 connection, 1 login
}

// A log with one attribute for each fact. A URL and a digest log themselves; no secret is shown.
func ExampleClient_slog() {
	s, err := testserver.Start(&testserver.Options{Users: map[string]string{"me": "secret"}, Tree: map[string]string{"/motd": "hello\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	c := ftpexec.Client{MaxIdle: -1, Trace: &ftpexec.Trace{
		Command: func(e ftpexec.CommandInfo) {
			if e.Verb == "PASS" {
				logger.Info("command", "conn", e.Conn, "text", e.Text)
			}
		},
		Reply: func(e ftpexec.ReplyInfo) {
			if e.Code == 230 {
				logger.Info("reply", "conn", e.Conn, "code", e.Code)
			}
		},
	}}
	u := local(s, "/motd")
	u.User = url.UserPassword("me", "secret")
	u.Port = 21
	c.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, s.Addr())
	}
	e, err := c.Stat(context.Background(), u)
	logger.Info("told", "url", u, "size", e.Size, "err", err)
	// Output:
	// msg=command conn=1 text="PASS ********"
	// msg=reply conn=1 code=230
	// msg=told url=ftp://me:***@127.0.0.1:21/motd size=6 err=<nil>
}

// The errors that a program may want to tell apart.
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
		default:
			return err.Error()
		}
	}

	s := exampleServer()
	c := ftpexec.Client{MaxIdle: -1}
	_, err := c.Get(context.Background(), s.URL("/pub/missing"))
	fmt.Println(explain(err))
	s.Close()
	_, err = c.Get(context.Background(), "ftp://127.0.0.1:2/pub/motd")
	fmt.Println(explain(err))
	// Output:
	// no such file
	// no server on this port
}
