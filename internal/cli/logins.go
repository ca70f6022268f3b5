package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/internal/netrc"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// logins is the source of the command's credentials. It answers a server that asks
// for a password or account that neither the URL nor -u gives, from
// --password-stdin, the netrc file or the person at the terminal, in this order.
type logins struct {
	piped     func() (string, error)      // the password on standard input, read once; nil without --password-stdin
	pipedFor  login                       // whose it is; an empty host means all hosts
	netrc     func() (*netrc.File, error) // read once; nil means that there is none
	forbidden bool                        // --no-prompt
	open      func() (*show.Console, error)
	alone     func(f func()) // calls f while nothing else is drawn on the terminal

	mu    sync.Mutex
	typed map[login]string // what the person has answered, for the other URLs of the run
}

// login says which secret an answer is.
type login struct{ what, host, user string }

func newLogins(c *config.Config, in io.Reader, alone func(func())) *logins {
	l := &logins{
		pipedFor: login{user: c.StdinUser, host: c.StdinHost}, forbidden: c.NoPrompt, open: show.OpenConsole, alone: alone,
		netrc: sync.OnceValues(func() (*netrc.File, error) { return readNetrc(c.Netrc) }), typed: make(map[login]string),
	}
	if c.PasswordStdin {
		l.piped = sync.OnceValues(func() (string, error) { return readPiped(in) })
	}
	return l
}

// supply is a [ftpexec.Client.Credentials].
func (l *logins) supply(ctx context.Context, host, user, what string) (string, error) {
	if what == "password" && l.piped != nil && user == l.pipedFor.user && (l.pipedFor.host == "" || host == l.pipedFor.host) {
		return await(ctx, l.piped)
	}
	return l.secret(ctx, login{what, host, user})
}

// secret returns what the netrc file has, or what the person has answered, or asks.
// Like ssh, it refuses a file that other users can read, unless the login is
// anonymous: its password is no secret.
func (l *logins) secret(ctx context.Context, of login) (string, error) {
	file, err := await(ctx, l.netrc)
	if err != nil {
		return "", err
	}
	if file != nil {
		if text, ok := file.Secret(of.host, of.user, of.what); ok && anonymous(of.user) {
			return text, nil
		} else if ok {
			return text, file.Private()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	text, ok := l.typed[of]
	if !ok {
		if text, err = l.ask(ctx, of); err == nil {
			l.typed[of] = text
		}
	}
	return text, err
}

// forget drops what the person has answered, after a refused login.
func (l *logins) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.typed)
}

func (l *logins) ask(ctx context.Context, of login) (string, error) {
	if l.forbidden {
		return "", missing("--no-prompt forbids asking")
	}
	c, err := l.open()
	if err != nil {
		return "", missing("there is no terminal to ask on")
	}
	var text string
	l.alone(func() {
		what := strings.ToUpper(of.what[:1]) + of.what[1:]
		text, err = c.ReadSecret(ctx, fmt.Sprintf("%s for %s at %s: ", what, printable.Line(hideSlip(of.user)), printable.Line(of.host)))
	})
	switch {
	case err == nil || ctx.Err() != nil:
		return text, err
	case errors.Is(err, io.EOF):
		return "", missing("no " + of.what + " was typed")
	}
	return "", missing("the terminal failed: " + err.Error())
}

// readPiped reads the password on standard input.
func readPiped(in io.Reader) (string, error) {
	if show.IsTerminal(in) {
		return "", missing("standard input is a terminal: leave out --password-stdin to be asked")
	}
	line, err := show.ReadLine(in)
	switch {
	case errors.Is(err, io.EOF):
		return "", missing("standard input has no line")
	case errors.Is(err, show.ErrTooLong):
		return "", missing("the line on standard input is too long for a password")
	case err != nil:
		return "", missing("standard input cannot be read: " + err.Error())
	}
	return line, nil
}

// readNetrc takes the value of --netrc. It returns nil if there is no file, unless
// the value names it.
func readNetrc(value string) (*netrc.File, error) {
	switch value {
	case config.NoNetrc:
		return nil, nil
	case "", config.UsualNetrc:
	default:
		return netrc.Load(value)
	}
	for _, path := range netrcPaths() {
		if info, err := os.Stat(path); err == nil && info.Mode()&os.ModeNamedPipe != 0 { // the run would wait for a writer
			return nil, netrc.Unusable(path, "is a pipe: only --netrc=FILE reads one")
		}
		if file, err := netrc.Load(path); !errors.Is(err, os.ErrNotExist) {
			return file, err
		}
	}
	return nil, nil
}

// netrcPaths returns the paths to try: that in the variable NETRC, or else those
// in the home directory.
func netrcPaths() (paths []string) {
	if path := os.Getenv("NETRC"); path != "" {
		return []string{path}
	}
	if home, err := os.UserHomeDir(); err == nil {
		paths = []string{filepath.Join(home, ".netrc")}
		if runtime.GOOS == "windows" {
			paths = append(paths, filepath.Join(home, "_netrc"))
		}
	}
	return paths
}

// user returns the user whom the netrc file names for host, or "".
func (l *logins) user(ctx context.Context, host string) (string, bool, error) {
	file, err := await(ctx, l.netrc)
	if file == nil || err != nil {
		return "", false, err
	}
	user, ok := file.User(host)
	return user, ok, nil
}

// usesNetrc reports whether the netrc file also gives users: without -n it gives
// only passwords.
func (r *run) usesNetrc() bool { return r.Netrc != "" && r.Netrc != config.NoNetrc }

// logIn adds the user to a URL that names none: that of -u, or of the netrc file. The
// password of -u goes with a user who has none; others follow when the server asks.
func (r *run) logIn(ctx context.Context, u *urlparse.URL) error {
	_, ok := u.User.Password()
	if u.User == nil || !ok && r.User != nil && u.User.Username() == r.User.Username() {
		u.User = r.User
	}
	if u.User != nil || !r.usesNetrc() {
		return nil
	}
	user, ok, err := r.logins.user(ctx, u.Host)
	if ok {
		u.User = url.User(user)
	}
	return err
}

// anonymous reports whether user is a name of the anonymous user, whose password
// is no secret.
func anonymous(user string) bool { return user == "anonymous" || user == "ftp" }

// hideSlip hides what follows a colon in a user name: it may be a password whose
// colon was encoded in the URL by mistake.
func hideSlip(user string) string {
	name, slip, _ := strings.Cut(user, ":")
	if slip == "" {
		return user
	}
	return name + ":***"
}

// missing returns the error for a secret that the server wants and ftpfetch does
// not have.
func missing(why string) error {
	return fmt.Errorf("%w: %s", ftpexec.ErrNoCredentials, why)
}
