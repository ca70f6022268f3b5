package urlparse

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
)

// login = [ user [ ":" password ] "@" ] hostport
//
// RFC 1738 sections 3.1 and 5. The last "@" ends the user name and password,
// so that the refusal of an unencoded one can point at it.
func login(u *URL, text part) *fault {
	at := strings.LastIndexByte(text.s, '@')
	if at >= 0 {
		if f := userinfo(u, text.to(at)); f != nil {
			return f
		}
	}
	f := hostport(u, text.from(at+1))
	if f != nil && f.hint == loginHint && at >= 0 {
		f.hint = ""
	}
	return f
}

// loginHint is for a port that is not a number, if there is no login.
const loginHint = "write ftp://user:password@host/ if this is a password"

// userinfo reads user [ ":" password ]. Empty is not absent: section 3.1.
func userinfo(u *URL, text part) *fault {
	before, _, found := strings.Cut(text.s, ":")
	name, f := user(text.to(len(before)))
	if u.User = url.User(name); f != nil || !found {
		return f
	}
	password, f := passwordOctets.decode(text.from(len(before) + 1))
	u.User = url.UserPassword(name, password)
	return f
}

// user = *[ uchar | ";" | "?" | "&" | "=" ]; a password has the same grammar.
func user(text part) (string, *fault) { return userOctets.decode(text) }

// hostport = host [ ":" port ]
func hostport(u *URL, text part) (f *fault) {
	if f := bareIPv6(text); f != nil {
		return f
	}
	end := hostEnd(text.s)
	if u.Host, f = host(text.to(end)); f != nil {
		return f
	}
	if end == len(text.s) {
		return nil
	}
	if text.s[end] != ':' {
		return text.fault(end, `only ":" and a port can follow "]"`, "")
	}
	if end+1 == len(text.s) {
		return text.fault(end+1, `no port follows the ":"`, "write "+text.s[:end])
	}
	u.Port, f = port(text.from(end + 1))
	return f
}

// hostEnd returns the length of the host before the ":" and the port.
func hostEnd(s string) int {
	if strings.HasPrefix(s, "[") {
		return len(upTo(s, "]")) + min(1, strings.Count(s, "]"))
	}
	return len(upTo(s, ":"))
}

// port = digits, RFC 1738 section 5; 1 to 65535, decimal even with leading zeros.
func port(text part) (int, *fault) {
	for i, c := range []byte(text.s) {
		if !digit(c) {
			return 0, text.fault(i, "a port is a decimal number", cmp.Or(delimiterHint(text.s[i:]), loginHint))
		}
	}
	n, err := strconv.ParseUint(text.s, 10, 16)
	if err != nil || n == 0 {
		return 0, text.fault(0, "a port is 1 to 65535", "")
	}
	return int(n), nil
}
