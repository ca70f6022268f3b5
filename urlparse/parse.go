package urlparse

import "strings"

// Parser parses with options. The zero value is what [Parse] uses.
type Parser struct {
	// AllowPort accepts the ports of other well-known protocols (25, 6667, ...).
	// Without it they are refused, because a URL could make an FTP client talk
	// to such a server: RFC 1738 section 6.
	AllowPort bool
}

// Parse reads one URL with the zero Parser.
func Parse(s string) (*URL, error) { return Parser{}.Parse(s) }

// Parse reads one URL. It may be preceded by "URL:" or wrapped in "<URL:" and
// ">", in which case white space inside the wrapper is removed (RFC 1738,
// Appendix). The error is an [*Error].
func (p Parser) Parse(s string) (*URL, error) {
	src, f := unwrap(s)
	if f != nil {
		return nil, src.error(f)
	}
	u, f := p.ftpurl(part{s: src.text})
	if f != nil {
		return nil, src.error(f)
	}
	return u, nil
}

// ftpurl = "ftp://" login [ "/" fpath [ ";type=" ftptype ]]
//
// RFC 1738 section 5; the parts of section 3.1. The "/" after the login is not
// part of the path. If it is missing, the path is empty.
func (p Parser) ftpurl(text part) (*URL, *fault) {
	u := new(URL)
	var schemepart part
	var f *fault
	if u.Scheme, schemepart, f = scheme(text); f != nil {
		return nil, f
	}
	slash := strings.IndexByte(schemepart.s, '/')
	if slash < 0 {
		return u, p.login(u, schemepart)
	}
	path := schemepart.from(slash + 1)
	if f = p.login(u, schemepart.to(slash)); f != nil {
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
