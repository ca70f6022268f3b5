package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"example.com/ftpfetch/cmd/internal/cli/config"
	"example.com/ftpfetch/cmd/internal/cli/netrc"
	"example.com/ftpfetch/cmd/internal/cli/show"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/printable"
)

// logins is the source of the command's credentials. If a server asks for a password or account that neither the URL
// nor -u gives, logins takes it from --password-stdin, the netrc file or the person at the terminal, in this order. If
// standard input is a terminal, --password-stdin means the person there.
type logins struct {
	*config.Config
	piped    func() (string, error) // the password on standard input, which is read once
	typing   bool                   // standard input is a terminal
	alone    func(f func())         // calls f while nothing is drawn on the terminal; nil if nobody may be asked
	file     *netrc.File            // empty if there is none, or it is unusable
	unusable error                  // matters only to a URL that needs the file
	names    bool                   // the file also gives users, not only passwords
	absent   bool                   // there is none of the usual files
	warn     func()                 // reports what of the file was not read
	open     func() (*show.Console, error)

	mu      sync.Mutex
	typed   map[login]string // the person's answers, for the other URLs of the run
	refused map[login]bool   // the server refused the last answer
}

// login is what a person is asked for: the password or account of a user of a host.
type login struct{ what, host, user string }

func newLogins(c *config.Config, in io.Reader, alone func(func())) *logins {
	if show.IsNull(in) {
		alone = nil
	}
	return &logins{
		Config:  c,
		piped:   sync.OnceValues(func() (string, error) { return readPiped(in) }),
		typing:  show.IsTerminal(in),
		alone:   alone,
		file:    new(netrc.File),
		names:   c.Netrc != "" && c.Netrc != config.NoNetrc,
		warn:    func() {},
		open:    show.OpenConsole,
		typed:   make(map[login]string),
		refused: make(map[login]bool),
	}
}

// readPiped reads the password for --password-stdin.
func readPiped(in io.Reader) (string, error) {
	line, err := show.ReadLine(in)
	switch {
	case errors.Is(err, io.EOF):
		err = missing("password", "standard input is empty", "write the password on its first line")
	case err != nil:
		err = missing("password", "standard input cannot be read: "+localfile.Cause(err).Error(), "")
	}
	return line, err
}

// load reads the file that --netrc names, which must exist, or else the one that NETRC names or the one in the home
// directory.
func (l *logins) load() {
	switch {
	case l.Netrc == config.NoNetrc:
		return
	case l.names && l.Netrc != config.UsualNetrc:
		l.read(l.Netrc)
		return
	}
	paths := []string{os.Getenv("NETRC")}
	if home, err := os.UserHomeDir(); paths[0] == "" && err == nil {
		// Windows uses the second name.
		paths = []string{filepath.Join(home, ".netrc"), filepath.Join(home, "_netrc")}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case err == nil && info.Mode()&os.ModeNamedPipe != 0: // a FIFO, whose writer the run would wait for
			l.unusable = netrc.Unusable(path, "is a pipe: only --netrc=FILE reads one")
		default:
			l.read(path)
		}
		return
	}
	l.absent = true
}

// read reads a netrc file. If the file cannot be used, read leaves an empty one.
func (l *logins) read(path string) {
	file, err := netrc.Load(path)
	if err != nil {
		l.unusable = err
		return
	}
	l.file = file
}

// supply is a [ftpexec.Client.Credentials]. Like ssh, it refuses a netrc file that other users can read, unless the
// login is anonymous and its password no secret.
func (l *logins) supply(ctx context.Context, host, user, what string) (text string, err error) {
	ours := user == l.StdinUser && (l.StdinHost == "" || host == l.StdinHost)
	fromStdin := what == "password" && l.PasswordStdin && ours
	if fromStdin && !l.typing {
		if err := await(ctx, func() error { _, err := l.piped(); return err }); err != nil {
			return "", err
		}
		return l.piped()
	}
	if !fromStdin {
		if text, ok, err := l.recorded(host, user, what); ok || err != nil {
			return text, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	of := login{what, host, user}
	text, ok := l.typed[of]
	if !ok {
		if text, err = l.ask(ctx, of); err != nil {
			return "", err
		}
		l.typed[of] = text
	}
	if used, ok := ctx.Value(answer{}).(*answer); ok {
		*used = answer{of, text}
	}
	return text, nil
}

// recorded returns what the netrc file has.
func (l *logins) recorded(host, user, what string) (text string, ok bool, err error) {
	if l.unusable != nil {
		return "", false, l.unusable
	}
	l.warn()
	text, ok = l.file.Secret(host, user, what)
	if ok && !anonymous(user) {
		err = l.file.Private()
	}
	return text, ok, err
}

// forget drops the person's answers after a refused login.
func (l *logins) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.typed)
}

func (l *logins) ask(ctx context.Context, of login) (text string, err error) {
	if l.alone == nil {
		return "", missing(of.what, "prompts are off because standard input is "+os.DevNull, "")
	}
	c, err := l.open()
	if err != nil {
		return "", missing(of.what, "there is no terminal for a prompt", "")
	}
	l.alone(func() {
		what := strings.ToUpper(of.what[:1]) + of.what[1:]
		who := printable.Line(hideSlip(of.user)) + " at " + printable.Line(of.host)
		if l.refused[of] {
			what = "The server refuses the login. " + what
		}
		text, err = c.ReadSecret(ctx, what+" for "+who+": ")
		delete(l.refused, of)
	})
	switch {
	case err == nil, ctx.Err() != nil:
		return text, err
	case errors.Is(err, io.EOF):
		return "", missing(of.what, "none was typed", "")
	}
	return "", missing(of.what, "the terminal failed: "+localfile.Cause(err).Error(), "")
}

// shows reports whether a login holds what may be a secret. An empty password is not a secret, nor is an anonymous
// user's.
func shows(login *url.Userinfo) bool {
	user := login.Username()
	password, _ := login.Password()
	return (password != "" || hideSlip(user) != user) && !anonymous(user)
}

// anonymous reports whether user is a name of the anonymous user, whose password is no secret.
func anonymous(user string) bool { return user == "anonymous" || user == "ftp" }

// hideSlip hides what follows a colon in a user name. It may be a password: the URL may encode its colon by mistake.
func hideSlip(user string) string {
	if name, slip := printable.Slip(user); slip != "" {
		return name + ":***"
	}
	return user
}

// missing returns the error for a missing secret. instead says what to write if the table of hints does not.
func missing(what, why, instead string) error {
	article := "a "
	if what == "account" {
		article = "an "
		instead = cmp.Or(instead, "account NAME in ~/.netrc")
	}
	err := fmt.Errorf("the server wants %s%s%.0w, and %s", article, what, ftpexec.ErrNoCredentials, why)
	if instead != "" {
		return &hinted{err, instead}
	}
	return err
}
