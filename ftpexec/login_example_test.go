package ftpexec_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"strings"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// passwords maps "user@host" to a password. A program may ask a person instead: the server has asked for it already.
type passwords map[string]string

func (p passwords) Password(_ context.Context, host, user string) (string, error) {
	if password, ok := p[user+"@"+host]; ok {
		return password, nil
	}
	return "", ftpexec.ErrNoCredentials
}

// Account supplies nothing. Hardly any server asks for it.
func (p passwords) Account(context.Context, string, string) (string, error) {
	return "", ftpexec.ErrNoCredentials
}

func ExampleCredentials() {
	s, err := testserver.Start(&testserver.Options{Users: map[string]string{"me": "secret"}, Tree: map[string]string{"/motd": "hello\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	var credentials ftpexec.Credentials = passwords{"me@127.0.0.1": "secret"}
	c := ftpexec.Client{Credentials: credentials}
	defer c.CloseIdleConnections()
	r, err := c.Get(context.Background(), s.URLAs("me", "/motd")) // ftp://me@127.0.0.1...
	if err != nil {
		log.Fatal(err)
	}
	defer r.Body.Close()
	if _, err := io.Copy(os.Stdout, r.Body); err != nil {
		log.Fatal(err)
	}
	// Output: hello
}

// The commands as sent, without passwords.
func ExampleEvent() {
	s, err := testserver.Start(&testserver.Options{Users: map[string]string{"me": "secret"}, Tree: map[string]string{"/pub/motd": "hello\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	c := ftpexec.Client{Trace: func(e ftpexec.Event) {
		if e.Kind == ftpexec.EventCommand { // not a reply, nor a note
			fmt.Println(e.Flight, e.Text)
		}
	}}
	defer c.CloseIdleConnections()
	r, err := c.Get(context.Background(), s.URLAs("me:secret", "/pub/motd"))
	if err != nil {
		log.Fatal(err)
	}
	defer r.Body.Close()
	// Output:
	// 1 USER me
	// 2 PASS ********
	// 2 PWD
	// 2 CWD pub
	// 2 TYPE I
	// 2 SIZE motd
	// 2 MDTM motd
	// 3 EPSV
	// 4 RETR motd
}

// The same in a log. No password is in it.
func ExampleClient_trace() {
	s, err := testserver.Start(&testserver.Options{Users: map[string]string{"me": "secret"}, Tree: map[string]string{"/motd": "hello\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	var b bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c := ftpexec.Client{Trace: ftpexec.SlogTrace(logger)}
	defer c.CloseIdleConnections()
	r, err := c.Get(context.Background(), s.URLAs("me:secret", "/motd"))
	if err != nil {
		log.Fatal(err)
	}
	defer r.Body.Close()
	fmt.Println(strings.Contains(b.String(), `text="RETR motd"`), strings.Contains(b.String(), "secret"))
	// Output: true false
}
