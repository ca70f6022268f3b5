package urlparse

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
)

// digestMark begins a digest in a key. Check refuses a NUL in every part of a URL, so no part looks like a digest.
const digestMark = "\x00"

// Key returns a text that says which resource u names. Two URLs have the same key if and only if they have the same
// scheme, user name, host, port, octets of the path and typecode; the password does not count. Programs store, compare
// and send keys. Show people [URL.Redacted] instead, and do not compare that.
//
// A key holds no password. If a part of the user name or of the path may be a password, the key has a digest of that
// part, so that URLs that differ only there have different keys.
func (u *URL) Key() string {
	v := *u
	v.Port = u.port() // so that it does not matter whether a default port is spelled out
	v = *v.withPath(u.digest)
	if u.User != nil {
		name, slip, colon := strings.Cut(u.User.Username(), ":")
		if colon {
			name += ":" + u.digest(slip)
		}
		v.User = url.User(name)
	}
	if v.Port == defaultPort(u.Scheme) {
		v.Port = 0
	}
	return v.String()
}

// digest returns the text that replaces secret, a part of u that may be a password, in a key. The digest includes the
// server's address, so that keys do not show that two servers have the same password.
func (u *URL) digest(secret string) string {
	sum := sha256.Sum256([]byte(u.Scheme + "\x00" + u.Address() + "\x00" + secret))
	return digestMark + hex.EncodeToString(sum[:16])
}

// KeyOf returns the key for a stored text: a [URL.Key], or the canonical spelling of a URL without its
// password, which earlier versions stored. A text with "***" in the path is ambiguous: in
// those versions different URLs could have it. KeyOf returns it unchanged, so that it matches no URL.
func KeyOf(stored string) string {
	u, err := Parse(stored)
	if err != nil || strings.Contains(stored, "***%40") {
		return stored
	}
	return u.Key()
}
