//go:build linux

package interop

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strconv"

	ftpserver "github.com/fclairamb/ftpserverlib"
	"github.com/spf13/afero"
)

// libraryConf is the environment variable that makes the test binary run an ftpserverlib in place of the tests.
const libraryConf = "FTPFETCH_INTEROP_LIBRARY"

// configureLibrary returns the test binary: in a process of its own, ftpserverlib starts and ends like the other
// servers.
func configureLibrary(st *site) program {
	binary, err := os.Executable()
	st.fails(err)
	return program{argv: []string{binary}, env: st.environment(libraryConf+"=yes", "INTEROP_ADDR="+st.addr(), "INTEROP_CERT="+st.cert,
		"INTEROP_PUBLIC="+st.tree.Public, "INTEROP_HOME="+st.tree.Home,
		"INTEROP_IDLE="+strconv.Itoa(st.Idle), "INTEROP_IMPLICIT="+strconv.FormatBool(st.Implicit))}
}

// serveLibrary serves until it is killed.
func serveLibrary() error {
	settings := &ftpserver.Settings{ListenAddr: os.Getenv("INTEROP_ADDR"), Banner: "ftpserverlib", ActiveTransferPortNon20: true, EnableHASH: true}
	settings.IdleTimeout, _ = strconv.Atoi(os.Getenv("INTEROP_IDLE"))
	d := libraryDriver{settings: settings}
	if cert := os.Getenv("INTEROP_CERT"); cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, cert)
		if err != nil {
			return err
		}
		d.tls = &tls.Config{Certificates: []tls.Certificate{pair}}
		settings.TLSRequired = ftpserver.MandatoryEncryption
		if os.Getenv("INTEROP_IMPLICIT") == "true" {
			settings.TLSRequired = ftpserver.ImplicitEncryption
		}
	}
	return ftpserver.NewFtpServer(d).ListenAndServe()
}

// libraryDriver gives everyone a read-only directory.
type libraryDriver struct {
	settings *ftpserver.Settings
	tls      *tls.Config // nil without TLS
}

func (d libraryDriver) GetSettings() (*ftpserver.Settings, error) { return d.settings, nil }

func (d libraryDriver) ClientConnected(ftpserver.ClientContext) (string, error) {
	return "ftpserverlib ready", nil
}

func (d libraryDriver) ClientDisconnected(ftpserver.ClientContext) {}

func (d libraryDriver) AuthUser(_ ftpserver.ClientContext, user, password string) (ftpserver.ClientDriver, error) {
	switch {
	case user == "anonymous":
		return readOnly("INTEROP_PUBLIC"), nil
	case user == UserName && password == UserPassword:
		return readOnly("INTEROP_HOME"), nil
	}
	return nil, fmt.Errorf("no user %s with that password", user)
}

func readOnly(variable string) afero.Fs {
	return afero.NewReadOnlyFs(afero.NewBasePathFs(afero.NewOsFs(), os.Getenv(variable)))
}

func (d libraryDriver) GetTLSConfig() (*tls.Config, error) {
	if d.tls == nil {
		return nil, errors.New("no TLS here")
	}
	return d.tls, nil
}
