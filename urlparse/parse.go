package urlparse

import "strings"

// Parse reads one URL. It may be preceded by "URL:" or wrapped in "<URL:" and
// ">", in which case white space inside the wrapper is removed (RFC 1738,
// Appendix). The error is an [*Error].
//
// Parse takes the ports of other protocols; see [URL.BadPort].
func Parse(s string) (*URL, error) {
	src, f := unwrap(s)
	if f != nil {
		return nil, src.error(f)
	}
	u, f := ftpurl(part{s: src.text})
	if f != nil {
		return nil, src.error(f)
	}
	return u, nil
}

// ftpurl = "ftp://" login [ "/" fpath [ ";type=" ftptype ]]
//
// RFC 1738 section 5; the parts of section 3.1. The "/" after the login is not
// part of the path. If it is missing, the path is empty.
func ftpurl(text part) (*URL, *fault) {
	u := new(URL)
	var schemepart part
	var f *fault
	if u.Scheme, schemepart, f = scheme(text); f != nil {
		return nil, f
	}
	slash := strings.IndexByte(schemepart.s, '/')
	if slash < 0 {
		return u, login(u, schemepart)
	}
	path := schemepart.from(slash + 1)
	if f = login(u, schemepart.to(slash)); f != nil {
		return nil, slashInLogin(schemepart, slash, f)
	}
	return u, urlpath(u, path)
}

// slashInLogin adapts f, the refusal of a login, if an "@" follows somewhere
// after the login: the "/" that ended it may be part of a password.
func slashInLogin(schemepart part, slash int, f *fault) *fault {
	switch {
	case !strings.Contains(schemepart.s[slash:], "@"):
		return f
	case !strings.Contains(schemepart.s[:slash], "@"):
		return schemepart.fault(slash, `"/" cannot stand unencoded in a user name or password, and no host is before it`,
			`write %2F for a "/" and %40 for a "@" there`)
	}
	if !strings.HasPrefix(f.hint, "write %") {
		f.hint = "" // it may quote a piece of the password as the host
	}
	return f
}
