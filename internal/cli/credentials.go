package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/netrc"
	"example.com/ftpfetch/urlparse"
)

// credentials answers a server that asks for what neither the URL nor -u
// gives. It is the [ftpexec.Credentials] of the command: --password-stdin goes
// before the netrc file, that before the person at the terminal.
type credentials struct {
	stdin *stdinPassword // nil without --password-stdin
	netrc *netrcFile
	ask   *prompter
}

func newCredentials(o *options, in io.Reader, ask *prompter) *credentials {
	c := &credentials{ask: ask, netrc: &netrcFile{path: o.netrcFile, named: o.netrcFile != "", off: o.noNetrc}}
	if o.passwordStdin {
		c.stdin = &stdinPassword{owner: o.stdinLogin, in: in}
	}
	return c
}

// Password implements [ftpexec.Credentials].
func (c *credentials) Password(ctx context.Context, host, user string) (string, error) {
	if c.stdin.isFor(host, user) {
		return c.stdin.get(ctx)
	}
	password, ok, err := c.netrc.secret(ctx, host, user, func(e netrc.Entry) netrc.Secret { return e.Password })
	if ok || err != nil {
		return password, err
	}
	return c.ask.Password(ctx, host, user)
}

// Account implements [ftpexec.Credentials].
func (c *credentials) Account(ctx context.Context, host, user string) (string, error) {
	if c.ask.account == "" {
		account, ok, err := c.netrc.secret(ctx, host, user, func(e netrc.Entry) netrc.Secret { return e.Account })
		if ok || err != nil {
			return account, err
		}
	}
	return c.ask.Account(ctx, host, user)
}

// stdinPassword is the password on standard input. It is read when a server
// asks for it, and once.
type stdinPassword struct {
	owner login // its host is "" for all hosts
	in    io.Reader
	line  lazy[string]
}

func (s *stdinPassword) isFor(host, user string) bool {
	return s != nil && user == s.owner.user && (s.owner.host == "" || host == s.owner.host)
}

// get returns the password.
func (s *stdinPassword) get(ctx context.Context) (string, error) {
	if isTerminal(s.in) {
		return "", missing("standard input is a terminal: leave out --password-stdin to be asked")
	}
	return s.line.get(ctx, s.readLine)
}

// maxPassword is the most bytes of a line that is taken for a password.
const maxPassword = 4096

// readLine reads the password.
func (s *stdinPassword) readLine() (string, error) {
	line, err := readLine(s.in)
	switch {
	case errors.Is(err, io.EOF):
		return "", missing("standard input has no line")
	case errors.Is(err, errTooLong):
		return "", missing("the line on standard input is too long for a password")
	case err != nil:
		return "", missing("standard input cannot be read: " + err.Error())
	}
	return line, nil
}

var errTooLong = errors.New("the line is too long for a password")

// readLine reads a line byte by byte: what comes behind it is left to others.
// io.EOF means that there is not even an empty one.
func readLine(in io.Reader) (string, error) {
	var line []byte
	one := make([]byte, 1)
	for len(line) <= maxPassword {
		_, err := io.ReadFull(in, one)
		switch {
		case err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)):
			return "", err
		case err != nil, one[0] == '\n':
			return strings.TrimSuffix(string(line), "\r"), nil
		}
		line = append(line, one[0])
	}
	return "", errTooLong
}

// netrcFile is the user's netrc file, which is read when it is needed.
type netrcFile struct {
	path  string // "" where it is to be found
	named bool   // by --netrc-file: then it must be there
	off   bool   // --no-netrc
	file  lazy[*netrc.File]
}

// load returns the file, or nil where there is none.
func (n *netrcFile) load() (*netrc.File, error) {
	paths := []string{n.path}
	switch {
	case n.off:
		return nil, nil
	case !n.named:
		paths = netrcPaths(os.Getenv, runtime.GOOS)
	}
	for _, path := range paths {
		file, err := netrc.Load(path)
		if n.named || !errors.Is(err, os.ErrNotExist) {
			return file, err
		}
	}
	return nil, nil
}

// netrcPaths are where the file is looked for: where the variable NETRC says,
// else in the home directory.
func netrcPaths(getenv func(string) string, goos string) []string {
	if path := getenv("NETRC"); path != "" {
		return []string{path}
	}
	home := getenv("HOME")
	if goos == "windows" {
		home = getenv("USERPROFILE")
	}
	switch {
	case home == "":
		return nil
	case goos == "windows":
		return []string{filepath.Join(home, ".netrc"), filepath.Join(home, "_netrc")}
	}
	return []string{filepath.Join(home, ".netrc")}
}

// secret returns one of the secrets that the file has for user on host. A file
// that others may read has none to give, as with ssh; but what goes with an
// anonymous login is none.
func (n *netrcFile) secret(ctx context.Context, host, user string, of func(netrc.Entry) netrc.Secret) (text string, ok bool, err error) {
	file, err := n.file.get(ctx, n.load)
	if file == nil || err != nil {
		return "", false, err
	}
	e, _ := file.Lookup(host, user)
	if text, ok = of(e).Reveal(); !ok {
		return "", false, nil
	}
	if !anonymous(user) {
		err = file.Private()
	}
	if err != nil {
		return "", false, err
	}
	return text, true, nil
}

// user returns whom the file says to log in as on host, where it names host.
func (n *netrcFile) user(ctx context.Context, host string) (user string, ok bool, err error) {
	file, err := n.file.get(ctx, n.load)
	if file == nil || err != nil {
		return "", false, err
	}
	e, ok := file.Machine(host)
	return e.Login, ok, nil
}

// addNetrc has --netrc name the user where the URL and -u name none. The
// password follows when the server asks for it.
func (r *run) addNetrc(ctx context.Context, u *urlparse.URL) error {
	if u.User.Set || !r.useNetrc {
		return nil
	}
	user, ok, err := r.netrc.user(ctx, u.Host)
	if ok {
		u.User = urlparse.Some(user)
	}
	return err
}

// anonymous reports a name of the user whose password is no secret.
func anonymous(user string) bool { return user == "anonymous" || user == "ftp" }

var _ ftpexec.Credentials = (*credentials)(nil)
