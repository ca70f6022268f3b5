//go:build linux

package interop

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// configureNetkit returns the ftpd of Linux NetKit, a program for inetd like that
// of inetutils. It asks PAM about anonymous users too, so it gets services of its
// own. It always accepts AUTH TLS, but a handshake with crypto/tls fails, whatever
// its certificate.
func configureNetkit(st *site) (program, error) {
	p, err := st.ftpd("usr/sbin/in.ftpd")
	if err != nil {
		return program{}, err
	}
	return p, st.pam(&p)
}

// The directory of PAM's services is a string in its library. In the server's
// copy the string has the same length and is relative to the working directory.
const (
	systemServices = "/etc/pam.d"
	ownServices    = "./../pam.d"
)

// pam gives a server a copy of PAM that knows only services like those that
// Debian's packages install.
func (st *site) pam(p *program) error {
	found, err := filepath.Glob("/usr/lib/*-linux-gnu/libpam.so.0")
	if err != nil || len(found) == 0 {
		return fmt.Errorf("no libpam.so.0 in /usr/lib: run internal/interop/install.sh")
	}
	library, err := os.ReadFile(found[0])
	if err != nil {
		return err
	}
	p.dir = st.path("lib")
	for _, dir := range []string{"lib", "pam.d"} {
		if err := os.Mkdir(st.path(dir), 0o755); err != nil {
			return err
		}
	}
	library = bytes.ReplaceAll(library, []byte(systemServices), []byte(ownServices))
	if err := os.WriteFile(filepath.Join(p.dir, "libpam.so.0"), library, 0o755); err != nil {
		return err
	}
	for i, variable := range p.env {
		p.env[i] = strings.Replace(variable, "LD_LIBRARY_PATH=", "LD_LIBRARY_PATH="+p.dir+":", 1)
	}
	_, err = st.write("pam.d/ftp", lines("auth sufficient pam_ftp.so", "auth required pam_unix.so",
		"account required pam_unix.so", "session required pam_permit.so"))
	return err
}
