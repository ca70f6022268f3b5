package urlparse

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
)

// digestMark begins a digest in a key. Check refuses a NUL in every part of a URL, so no part looks like a digest.
const digestMark = "\x00"

// Key returns a text that says which resource u names. Two URLs have the same key if and only if they have the same scheme,
// user name, host, port, octets of the path and typecode; the password does not count. Programs store keys, compare them
// and send them. People are shown [URL.Redacted] instead, which is never compared.
//
// A key holds no password. What may be one in a user name or in the path is a digest in the key, so that URLs which differ
// only there have different keys.
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

// digest returns what stands in a key for a part of u that may be a password. The server's address is in the digest, so
// that equal passwords for two servers do not show as equal.
func (u *URL) digest(secret string) string {
	sum := sha256.Sum256([]byte(u.Scheme + "\x00" + u.Address() + "\x00" + secret))
	return digestMark + hex.EncodeToString(sum[:16])
}
