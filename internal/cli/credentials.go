package cli

import (
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/internal/netrc"
	"example.com/ftpfetch/urlparse"
)

// credentials is the [ftpexec.Credentials] of the command. It answers a server
// that asks for a password or account that neither the URL nor -u gives, from
// --password-stdin, the netrc file or the person at the terminal, in this order.
type credentials struct {
	stdin *stdinPassword // nil without --password-stdin
	netrc *netrcFile
	ask   *prompter
}

func newCredentials(o *config.Config, in io.Reader, ask *prompter) *credentials {
	c := &credentials{ask: ask, netrc: newNetrcFile(o.Netrc)}
	if o.PasswordStdin {
		c.stdin = newStdinPassword(login{user: o.StdinUser, host: o.StdinHost}, in)
	}
	return c
}

// Password implements [ftpexec.Credentials].
func (c *credentials) Password(ctx context.Context, host, user string) (string, error) {
	if c.stdin.isFor(host, user) {
		return c.stdin.get(ctx)
	}
	password, ok, err := c.netrc.secret(ctx, host, user, "password")
	if ok || err != nil {
		return password, err
	}
	return c.ask.Password(ctx, host, user)
}

// Account implements [ftpexec.Credentials].
func (c *credentials) Account(ctx context.Context, host, user string) (string, error) {
	account, ok, err := c.netrc.secret(ctx, host, user, "account")
	if ok || err != nil {
		return account, err
	}
	return c.ask.Account(ctx, host, user)
}

// stdinPassword is the password on standard input. It is read once, when a
// server first asks for it.
type stdinPassword struct {
	owner login // an empty host means all hosts
	in    io.Reader
	line  func() (string, error) // readLine, once
}

func newStdinPassword(owner login, in io.Reader) *stdinPassword {
	s := &stdinPassword{owner: owner, in: in}
	s.line = sync.OnceValues(s.readLine)
	return s
}

func (s *stdinPassword) isFor(host, user string) bool {
	return s != nil && user == s.owner.user && (s.owner.host == "" || host == s.owner.host)
}

// get returns the password, which it reads on the first call.
func (s *stdinPassword) get(ctx context.Context) (string, error) {
	if show.IsTerminal(s.in) {
		return "", missing("standard input is a terminal: leave out --password-stdin to be asked")
	}
	return await(ctx, s.line)
}

// readLine reads the password.
func (s *stdinPassword) readLine() (string, error) {
	line, err := show.ReadLine(s.in)
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

// netrcFile is the user's netrc file, read on first use.
type netrcFile struct {
	path  string                      // "" means the first that exists of netrcPaths
	named bool                        // by --netrc=FILE: it must exist
	off   bool                        // --netrc=none
	file  func() (*netrc.File, error) // load, once
}

// newNetrcFile takes the value of --netrc.
func newNetrcFile(path string) *netrcFile {
	n := &netrcFile{path: path, named: path != "" && path != config.UsualNetrc && path != config.NoNetrc, off: path == config.NoNetrc}
	n.file = sync.OnceValues(n.load)
	return n
}

// load returns the file, or nil if there is none.
func (n *netrcFile) load() (*netrc.File, error) {
	paths := []string{n.path}
	switch {
	case n.off:
		return nil, nil
	case !n.named:
		paths = netrcPaths(os.Getenv, runtime.GOOS)
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && !n.named && info.Mode()&os.ModeNamedPipe != 0 { // the run would wait for a writer
			return nil, netrc.Unusable(path, "is a pipe: only --netrc=FILE reads one")
		}
		file, err := netrc.Load(path)
		if n.named || !errors.Is(err, os.ErrNotExist) {
			return file, err
		}
	}
	return nil, nil
}

// netrcPaths returns the paths to try: that in the variable NETRC, or else those
// in the home directory.
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

// secret returns the word that the file has for user on host. Like ssh, it refuses a
// file that other users can read, unless the login is anonymous: its password is no
// secret.
func (n *netrcFile) secret(ctx context.Context, host, user, word string) (text string, ok bool, err error) {
	file, err := await(ctx, n.file)
	if file == nil || err != nil {
		return "", false, err
	}
	if text, ok = file.Secret(host, user, word); ok && !anonymous(user) {
		err = file.Private()
	}
	if err != nil {
		return "", false, err
	}
	return text, ok, nil
}

// user returns the user whom the file names for host, if it names host.
func (n *netrcFile) user(ctx context.Context, host string) (user string, ok bool, err error) {
	file, err := await(ctx, n.file)
	if file == nil || err != nil {
		return "", false, err
	}
	user, ok = file.User(host)
	return user, ok, nil
}

// useNetrc reports whether the netrc file also gives users.
func (r *run) useNetrc() bool { return r.Netrc != "" && r.Netrc != config.NoNetrc }

// addNetrc applies --netrc: it adds the user from the netrc file if neither the
// URL nor -u names one. The password follows when the server asks for it.
func (r *run) addNetrc(ctx context.Context, u *urlparse.URL) error {
	if u.User != nil || !r.useNetrc() {
		return nil
	}
	user, ok, err := r.netrc.user(ctx, u.Host)
	if ok {
		u.User = url.User(user)
	}
	return err
}

// anonymous reports whether user is a name of the anonymous user, whose password
// is no secret.
func anonymous(user string) bool { return user == "anonymous" || user == "ftp" }

var _ ftpexec.Credentials = (*credentials)(nil)
