package main

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
)

// join is the content of a JOIN file: where the server is, and how client and server authenticate each other.
type join struct {
	Address string `json:"address,omitempty"`    // host:port, or the URL of an existing NATS
	Page    string `json:"page,omitempty"`       // the URL where the server shows what the role look may see
	Role    string `json:"role,omitempty"`       // the role of Token
	Token   string `json:"token,omitempty"`      // 256 bits
	Work    string `json:"work_token,omitempty"` // of role add: with it the command work logs in
	// replaces Token: a file with the NKey and JWT of a user of an existing NATS
	Credentials string `json:"credentials,omitempty"`
	// in PEM form; the server must have exactly this one. If empty, the system's authorities are used
	Certificate string `json:"certificate,omitempty"`

	// the first part of all names in an existing NATS
	Namespace string `json:"namespace,omitempty"`

	insecure bool                  // --insecure
	replicas int                   // --replicas
	far      bool                  // one of the addresses may be on another machine
	as       string                // the role of the command
	reread   func() (*join, error) // reads it again, for each login: its token may have been revoked
	refused  func(error)           // is told that the token is refused for long; nil: nobody is
}

// login returns the user and the password. Workers hear of each other only in one account, so a worker logs in as one
// whatever its JOIN file allows.
func (j *join) login() (user, password string) {
	if now, err := j.reread(); err == nil {
		j = &join{Role: now.Role, Token: now.Token, Work: now.Work, as: j.as}
	}
	if j.as == "work" && j.Work != "" {
		return "work", j.Work
	}
	return j.Role, j.Token
}

// newToken returns a token.
func newToken() string {
	var bytes [32]byte
	_, _ = rand.Read(bytes[:]) // never fails
	return hex.EncodeToString(bytes[:])
}

var spaces = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// spaceOf returns a namespace, by default ftpfetch.
func spaceOf(name string) (space, error) {
	if name == "" {
		name = "ftpfetch"
	}
	if !spaces.MatchString(name) {
		return "", usage("--namespace %s: write letters, digits, - and _", shown(name))
	}
	return space(name), nil
}

func (j *join) write(name string) error {
	text, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return err
	}
	return writeSecret(name, append(text, '\n'))
}

// writeSecret writes a file that only this user may read. The file gets its name when it is complete.
func writeSecret(name string, text []byte) error {
	file, err := os.CreateTemp(filepath.Dir(name), ".secret-") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // fails once the file has been renamed
	if _, err = file.Write(text); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), name)
	}
	return err
}

// readJoin reads a JOIN file. It refuses a file that other users can read or have written, because the token is all
// that anyone needs.
func readJoin(name string, insecure bool) (*join, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, localfile.Failure(name, "cannot be read", err)
	}
	defer file.Close()
	info, err := file.Stat()
	j := &join{insecure: insecure}
	derr := json.NewDecoder(file).Decode(j)
	if err != nil || derr != nil || j.Address == "" && (j.Page == "" || j.Role != "look") {
		return nil, usage("%s is there, and no file that ftpfetch-fleet serve has written", name)
	}
	if !disk.Ours(info) || info.Mode().Perm()&0o077 != 0 {
		return nil, usage("%s holds a token and is open to other users: run chmod 600 %s as its owner", name, name)
	}
	return j, j.check(name)
}

// check refuses an invalid address, and sets far. An address may have a password, so no error shows it; the library's
// errors would.
func (j *join) check(name string) error {
	if j.Address == "" { // of role look
		return nil
	}
	for text := range strings.SplitSeq(j.Address, ",") {
		if text = strings.TrimSpace(text); !strings.Contains(text, "://") {
			text = "nats://" + text
		}
		u, err := url.Parse(text)
		if err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" ||
			u.RawQuery != "" || u.Fragment != "" {
			return usage("%s: its address is malformed: write host:port or nats://host:port, "+
				"and a password percent-encoded", name)
		}
		if !isLoopback(u.Hostname()) {
			j.far = true
			if u.Scheme == "ws" && !j.insecure {
				return usage("%s: ws:// to another machine is plain text: write wss://, or --insecure", name)
			}
		}
	}
	return nil
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

var errForeign = errors.New("the server shows another certificate than the JOIN file has: " +
	"it is not the one that wrote the file")

// connect connects to the server. It calls again after each reconnect.
func (j *join) connect(name string, again func()) (*nats.Conn, error) {
	o := []nats.Option{
		nats.Name(name), nats.Timeout(5 * time.Second), nats.MaxReconnects(-1), nats.ReconnectWait(time.Second / 2),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ReconnectBufSize(-1), // a late message may no longer be true
	}
	o = append(o, j.handlers(again)...)
	if j.Role != "" && j.Token != "" {
		o = append(o, nats.UserInfoHandler(j.login), nats.IgnoreAuthErrorAbort())
	} else if j.Token != "" {
		o = append(o, nats.Token(j.Token))
	}
	if j.Credentials != "" {
		o = append(o, nats.UserCredentials(j.Credentials))
	}
	if j.Certificate != "" {
		pinned, err := pin(j.Certificate)
		if err != nil {
			return nil, err
		}
		// The TLS handshake comes first: only this server gets the token, and nothing is sent in plain text.
		o = append(o, nats.Secure(pinned), nats.TLSHandshakeFirst())
	} else if !j.insecure && j.far { // otherwise the library would send the token in plain text
		o = append(o, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	return nats.Connect(j.Address, o...)
}

// handlers returns what handles the events of a connection. They call refused if the server refuses the token that it
// accepted before, and the JOIN file gets no other one in time. They call again after each reconnect.
func (j *join) handlers(again func()) []nats.Option {
	var since time.Time // of refusal; zero: it is not refused
	return []nats.Option{
		nats.ReconnectHandler(func(*nats.Conn) { since = time.Time{}; again() }),
		// The library's own handler writes to standard error. The calls return the errors.
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			switch {
			case j.refused == nil || !errors.Is(err, nats.ErrAuthorization):
			case since.IsZero():
				since = time.Now()
			case time.Since(since) > asking:
				j.refused(err)
			}
		}),
	}
}

// pin returns a configuration that accepts exactly one certificate, whatever names and times it has.
func pin(text string) (*tls.Config, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, usage("the certificate of the JOIN file is not in PEM form")
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, // in place of names and authorities:
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 ||
				!bytes.Equal(s.PeerCertificates[0].Raw, block.Bytes) {
				return errForeign
			}
			return nil
		},
	}, nil
}
