// Package urls has functions about URLs that only the packages of this repository need.
package urls

import (
	"net/url"
	"slices"
	"strings"

	"example.com/ftpfetch/urlparse"
)

// SameLogin reports whether one connection may serve u and v: scheme, address, user and password are the same.
func SameLogin(u, v *urlparse.URL) bool {
	if v == nil {
		return false
	}
	same := u.User == v.User || u.User != nil && v.User != nil && *u.User == *v.User
	return same && u.Scheme == v.Scheme &&
		(u.Host == v.Host && u.Port == v.Port || u.Address() == v.Address())
}

// WithoutPassword returns a copy of u without the password, and without the part of the user name after a colon, which
// may be a password ([urlparse.URL.Redacted]). Unlike Redacted it keeps the whole path, so its String names the same
// file for other programs.
func WithoutPassword(u *urlparse.URL) *urlparse.URL {
	v := *u
	v.Dirs = slices.Clone(v.Dirs)
	if u.User != nil {
		name, _, _ := strings.Cut(u.User.Username(), ":")
		v.User = url.User(name)
	}
	return &v
}

// KeyOf returns the key for a stored text: a [urlparse.URL.Key], or the canonical spelling of a URL without its
// password, which earlier versions stored. In those versions different URLs could have the same text, with "***" in the
// path. KeyOf returns such a text unchanged, and it is the key of no URL.
func KeyOf(stored string) string {
	u, err := urlparse.Parse(stored)
	if err != nil || strings.Contains(stored, "***%40") {
		return stored
	}
	return u.Key()
}

// textSuffixes are the suffixes of files that consist of lines of text on every system.
const textSuffixes = " asc bat c cc cfg conf cpp css csv diff go h hpp htm html ini java " +
	"js json log lst md patch pl py rst sh sql tex text tsv txt xml yaml yml "

// GuessType guesses the typecode of a file from the suffix of its name, as RFC 1738 section 3.2.3 allows if the URL has
// none: TypeASCII for text, TypeImage for everything else. name is decoded; the case of the suffix does not matter. A
// wrong TypeImage changes no byte, but a wrong TypeASCII may.
func GuessType(name string) urlparse.Typecode {
	dot := strings.LastIndexByte(name, '.')
	if dot > 0 && strings.Contains(textSuffixes, " "+strings.ToLower(name[dot+1:])+" ") {
		return urlparse.TypeASCII
	}
	return urlparse.TypeImage
}
