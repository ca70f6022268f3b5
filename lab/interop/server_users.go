//go:build linux

package interop

import (
	"fmt"
	"strings"

	"example.com/ftpfetch/urlparse"
)

// The named user. The password holds characters that a URL must encode.
const (
	UserName     = "reader"
	UserPassword = "open sesame:/@%"
)

// userHash is UserPassword as crypt(3) writes it (SHA-512, salt "interop").
const userHash = "$6$interop$DXUpyq2Spg4PQeOerv.8hYhmTELaTUGwjmbM6ExOmKRDwtlebS4wUaOFkLrtOwOOOOtx50pHQfrQEYuoINQ/4."

// nobody is the user and group that the servers run as after a login. Every Debian has them, and they own no files.
const nobody = 65534

// passwd returns an /etc/passwd for the servers. Anonymous logins use the account ftp.
func (st *site) passwd() string {
	line := func(name, hash, home string) string {
		return fmt.Sprintf("%s:%s:%d:%d:%s:%s:/bin/sh", name, hash, nobody, nobody, name, home)
	}
	return lines(
		"root:*:0:0:root:/nonexistent:/bin/sh",
		line("nobody", "*", "/nonexistent"),
		line("ftp", "*", st.tree.Public),
		line(UserName, userHash, st.tree.Home),
	)
}

func (st *site) groups() string {
	return lines("root:*:0:", fmt.Sprintf("nogroup:*:%d:", nobody))
}

// accounts returns an environment in which a server sees the accounts of passwd instead of the machine's: nss_wrapper
// answers getpwnam(3) and the like. It is for servers that have no other kind of user.
func (st *site) accounts() []string {
	return []string{
		"LD_PRELOAD=" + st.installed("usr/lib/*-linux-gnu/libnss_wrapper.so"),
		"NSS_WRAPPER_PASSWD=" + st.write("passwd", st.passwd()),
		"NSS_WRAPPER_GROUP=" + st.write("group", st.groups()),
	}
}

// UserURL returns the ftp URL of an url-path (which starts with "/") for the named user with the given password.
func (s *Server) UserURL(password, path string) string {
	return "ftp://" + UserName + ":" + Escape(password) + "@" + s.Addr + path
}

// Escape percent-encodes every byte but those that are safe anywhere in a URL (RFC 1738, section 2.2).
func Escape(s string) string {
	return strings.TrimPrefix((&urlparse.URL{Host: "h", Name: s}).String(), "://h/")
}
