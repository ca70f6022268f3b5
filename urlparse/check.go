package urlparse

import "strconv"

// Check returns the error that [Parse] would return for a value made by hand: a
// CR, LF or NUL in a part, a typecode of a file without a name, an invalid host,
// and so on. A URL that passes survives String and Parse. The error is an
// [*Error] whose Input is u.Redacted() and whose Column counts in u.String().
//
// Check accepts the ports of other protocols, as a Parser with AllowPort does;
// use [Parser.Check] if the port comes from outside.
func (u *URL) Check() error { return Parser{AllowPort: true}.Check(u) }

// Check is like [URL.Check], and also refuses the ports that p refuses.
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

// checkLogin checks everything before the host.
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

// checkRest checks the host and everything after it.
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

// checkType checks the typecode, whose ";type=" begins at at.
func checkType(u *URL, at int) *fault {
	if _, f := ftptype(part{u.Type.String(), at + len(";type=")}); f != nil {
		return f
	}
	if u.Name == "" && u.Type != TypeDir {
		return noFile(u.Type, at)
	}
	return nil
}

// checkOctets refuses what no FTP command can carry. The encoded octets begin
// at at; checkOctets returns where they end.
func checkOctets(octets string, at int) (end int, f *fault) {
	for i := range len(octets) {
		if name := forbidden(octets[i]); name != "" {
			return at, part{at: at}.fault(0, name+" cannot be part of an FTP command, encoded or not", "")
		}
		at += len(encode(octets[i : i+1]))
	}
	return at, nil
}
