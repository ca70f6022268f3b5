package ftpexec_test

import (
	"context"
	"io"
	"log"
	"os"

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
