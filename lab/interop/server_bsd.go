//go:build linux

package interop

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// configureInetutils returns a program for inetd, whose connections the harness accepts. The server confines anonymous
// users to the home of the account ftp, which the harness makes up. The named user is an account too, but is not
// confined, because the server cannot do that.
func configureInetutils(st *site) program { return st.ftpd("usr/sbin/ftpd") }

// configureNetkit returns the ftpd of Linux NetKit, which inetd starts like that of inetutils. It asks PAM about
// anonymous users too, so it gets PAM services of its own. It always accepts AUTH TLS, but then the handshake with
// crypto/tls fails, whatever the certificate.
func configureNetkit(st *site) program {
	p := st.ftpd("usr/sbin/in.ftpd")
	st.pam(&p)
	return p
}

// ftpd returns one of the servers that descend from the ftpd of BSD.
func (st *site) ftpd(file string) program {
	argv := []string{st.installed(file)}
	if st.Idle > 0 {
		argv = append(argv, "-t", fmt.Sprint(st.Idle))
	}
	return program{argv: argv, env: st.environment(st.accounts()...)}
}

// The directory of PAM's services is a string in PAM's library. The server's copy of the library has a relative path of
// the same length instead.
const (
	systemServices = "/etc/pam.d"
	ownServices    = "./../pam.d"
)

// pam gives a server a copy of PAM that knows only services like those that Debian's packages install.
func (st *site) pam(p *program) {
	found, _ := filepath.Glob("/usr/lib/*-linux-gnu/libpam.so.0") // the pattern is well formed
	if len(found) == 0 {
		st.fails(fmt.Errorf("no libpam.so.0 in /usr/lib: run lab/interop/install.sh"))
		return
	}
	library, err := os.ReadFile(found[0])
	st.fails(err)
	p.dir = st.path("lib")
	st.fails(os.Mkdir(p.dir, 0o755))
	st.fails(os.Mkdir(st.path("pam.d"), 0o755))
	library = bytes.ReplaceAll(library, []byte(systemServices), []byte(ownServices))
	st.fails(os.WriteFile(filepath.Join(p.dir, "libpam.so.0"), library, 0o755))
	for i, variable := range p.env {
		p.env[i] = strings.Replace(variable, "LD_LIBRARY_PATH=", "LD_LIBRARY_PATH="+p.dir+":", 1)
	}
	// Without "ignore" the host of an anonymous password is looked up, which may take seconds.
	st.write("pam.d/ftp", lines("auth sufficient pam_ftp.so ignore", "auth required pam_unix.so",
		"account required pam_unix.so", "session required pam_permit.so"))
}
