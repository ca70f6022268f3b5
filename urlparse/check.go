package urlparse

import "strconv"

// Check gives the refusals of [Parse] for a value made by hand: a CR, LF or NUL
// in a part, an empty name with a typecode of a file, a host that is none, and
// so on. A checked URL survives String and Parse. The refusal is an [*Error]
// whose Input is u.Redacted() and whose Column counts in u.String().
//
// Ports of other protocols pass, because a Parser with AllowPort lets them
// pass; use [Parser.Check] where the port comes from outside.
func (u *URL) Check() error { return Parser{AllowPort: true}.Check(u) }

// Check is as [URL.Check], with the ports that p refuses.
func (p Parser) Check(u *URL) error {
	f := u.checkLogin()
	if f == nil {
		f = p.checkRest(u)
	}
	if f == nil {
		return nil
	}
	return &Error{Input: u.Redacted(), Column: f.at + 1, Reason: f.reason, Hint: f.hint, kind: f.kind}
}

// checkLogin looks at all that stands before the host.
func (u *URL) checkLogin() *fault {
	scheme := part{s: string(u.Scheme)}
	login := part{at: len(scheme.s) + len("://")}
	switch {
	case u.Scheme != FTP && u.Scheme != FTPS && u.Scheme != FTPES:
		f := scheme.fault(0, "the scheme is none of ftp, ftps and ftpes", `write "ftp"`)
		f.kind = ErrScheme
		return f
	case !u.User.Set && (u.User.Value != "" || u.Password.Set):
		return login.fault(0, "a user name or a password without User.Set", "write Some(user)")
	case !u.Password.Set && u.Password.Value != "":
		return login.fault(0, "a password without Password.Set", "write Some(password)")
	}
	at, f := checkOctets(u.User.Value, login.at)
	if f == nil {
		_, f = checkOctets(u.Password.Value, at+len(":"))
	}
	return f
}

// checkRest looks at the host and what follows it.
func (p Parser) checkRest(u *URL) (f *fault) {
	at := len(u.loginPrefix(encode(u.User.Value), encode(u.Password.Value)))
	if _, f = host(part{bracket(u.Host), at}); f != nil {
		return f
	}
	at += len(bracket(canonicalHost(u.Host)))
	if u.Port != 0 {
		port := strconv.Itoa(u.Port)
		if _, f = p.port(part{port, at + len(":")}); f != nil {
			return f
		}
		at += len(":") + len(port)
	}
	for _, segment := range append(u.Dirs[:len(u.Dirs):len(u.Dirs)], u.Name) {
		if at, f = checkOctets(segment, at+len("/")); f != nil {
			return f
		}
	}
	if u.Type == TypeNone {
		return nil
	}
	return checkType(u, at)
}

// checkType looks at the typecode, which begins with ";type=" at at.
func checkType(u *URL, at int) *fault {
	if _, f := ftptype(part{u.Type.String(), at + len(";type=")}); f != nil {
		return f
	}
	if u.Name == "" && u.Type != TypeDir {
		return noFile(u.Type, at)
	}
	return nil
}

// checkOctets refuses what no FTP command can carry. It returns where the
// encoded octets end that begin at at.
func checkOctets(octets string, at int) (end int, f *fault) {
	for i := range len(octets) {
		if name := forbidden(octets[i]); name != "" {
			return at, part{at: at}.fault(0, name+" cannot be part of an FTP command, encoded or not", "")
		}
		at += len(encode(octets[i : i+1]))
	}
	return at, nil
}
