package testserver

import "net"

// address is where a server listens.
type address struct {
	tcp    *net.TCPAddr
	scheme string
}

// Addr returns "host:port", IPv6 in brackets.
func (a *address) Addr() string { return a.tcp.String() }

// URL returns "scheme://host:port" + path, without encoding path. The scheme
// is ftpes with TLSRequired, ftps with TLSImplicit, else ftp.
func (a *address) URL(path string) string { return a.scheme + "://" + a.Addr() + path }

// URLAs is like URL, with userinfo: "user" or "user:password", already encoded.
func (a *address) URLAs(userinfo, path string) string {
	return a.scheme + "://" + userinfo + "@" + a.Addr() + path
}
