package urlparse

import (
	"net/url"
	"slices"

	"example.com/ftpfetch/internal/printable"
)

// SameLogin reports whether one connection may serve u and v: the scheme, the address, the user and the password are
// the same. v may be nil: then they are not.
func (u *URL) SameLogin(v *URL) bool {
	if v == nil {
		return false
	}
	same := u.User == v.User || u.User != nil && v.User != nil && *u.User == *v.User
	return same && u.Scheme == v.Scheme &&
		(u.Host == v.Host && u.Port == v.Port || u.Address() == v.Address())
}

// WithoutPassword returns a copy of u without the password, and without the part of the user name after a colon, which
// may be a password ([URL.Redacted]), unless it is the port of "user@host:port". Unlike Redacted it keeps the whole path,
// so its String names the same file for other programs.
func (u *URL) WithoutPassword() *URL {
	v := *u
	v.Dirs = slices.Clone(v.Dirs)
	if u.User != nil {
		name, _ := printable.Slip(u.User.Username())
		v.User = url.User(name)
	}
	return &v
}
