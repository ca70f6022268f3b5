package urlparse

import "errors"

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
	text := u.String()
	if f := u.structure(); f != nil {
		return &Error{Input: u.Redacted(), Column: f.at + 1, Reason: f.reason, Hint: f.hint, kind: f.kind}
	}
	_, err := p.Parse(text)
	var refusal *Error
	if errors.As(err, &refusal) {
		refusal.Input = u.Redacted() // here nobody has to guess where the password is
	}
	return err
}

// structure refuses what String cannot print so that Parse finds it again. The
// rest is the parser's to refuse.
func (u *URL) structure() *fault {
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
	before := len(u.loginPrefix(encode(u.User.Value), encode(u.Password.Value)))
	_, f := host(part{bracket(u.Host), before})
	return f
}
