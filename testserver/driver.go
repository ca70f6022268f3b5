package testserver

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"strings"

	ftpserver "github.com/fclairamb/ftpserverlib"
	"github.com/spf13/afero"
)

var (
	errLogin = errors.New("login incorrect")
	errNoTLS = errors.New("no TLS here")
	errIsDir = errors.New("is a directory")
)

// driver implements ftpserverlib's interfaces. It is a type of its own so that its methods are apart.
type driver struct {
	*Server
	accepts acceptor
}

func (d driver) GetSettings() (*ftpserver.Settings, error) {
	settings := &ftpserver.Settings{
		Listener:                d.accepts,
		Banner:                  "testserver",
		ActiveTransferPortNon20: true,
		// "-l" is a file name: RFC 959 has no options for LIST or NLST.
		DisableLISTArgs: true,
		EnableHASH:      true,
	}
	if d.opts.Scheme == "ftps" {
		settings.TLSRequired = ftpserver.ImplicitEncryption
	}
	return settings, nil
}

func (d driver) ClientConnected(cc ftpserver.ClientContext) (string, error) {
	d.frontOf(cc).greet()
	return "testserver ready", nil
}

func (d driver) ClientDisconnected(cc ftpserver.ClientContext) {
	d.frontOf(cc).libraryGone()
}

// frontOf returns the connection's front.
func (d driver) frontOf(cc ftpserver.ClientContext) *front {
	d.state.Lock()
	defer d.state.Unlock()
	return d.open[int(cc.ID())].front
}

// AuthUser only gets logins that front has accepted.
func (d driver) AuthUser(cc ftpserver.ClientContext, user, pass string) (ftpserver.ClientDriver, error) {
	if !d.admits(user, pass) {
		return nil, errLogin
	}
	if home := d.opts.Home[user]; home != "" {
		cc.SetPath(home)
	}
	return tree{d.opts.FS}, nil
}

// tree is the file system as the library sees it.
type tree struct{ afero.Fs }

// OpenFile refuses directories: afero opens them, and RETR of one would transfer nothing and succeed.
func (t tree) OpenFile(name string, flag int, perm fs.FileMode) (afero.File, error) {
	if info, err := t.Stat(name); err == nil && info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errIsDir}
	}
	return t.Fs.OpenFile(name, flag, perm)
}

// GetTLSConfig returns the configuration for data connections; front does TLS on control connections.
func (d driver) GetTLSConfig() (*tls.Config, error) {
	if d.dataTLS == nil {
		return nil, errNoTLS
	}
	return d.dataTLS, nil
}

func (d driver) WrapPassiveListener(l net.Listener) (net.Listener, error) {
	return d.passiveFor.wrap(l), nil
}

// admits reports whether the server logs user in with pass.
func (s *Server) admits(user, pass string) bool {
	if want, ok := s.opts.Users[user]; ok {
		return pass == want || want == ""
	}
	return strings.EqualFold(user, "anonymous") || strings.EqualFold(user, "ftp")
}

func (s *Server) opensWithoutPassword(user string) bool {
	want, ok := s.opts.Users[user]
	return ok && want == ""
}
