package urlparse

// Check returns the error that [Parse] would return for a value made by hand: a
// CR, LF or NUL in a part, a typecode of a file without a name, an invalid host,
// and so on. A URL that passes survives String and Parse. The error is an
// [*Error] whose Input is u.Redacted() and whose Column counts in u.String().
func (u *URL) Check() error {
	text := part{s: u.String()}
	f := (*fault)(nil)
	switch {
	case u.Scheme != FTP && u.Scheme != FTPS && u.Scheme != FTPES:
		f = text.fault(0, "the scheme is none of ftp, ftps and ftpes", `write "ftp"`)
		f.kind = ErrScheme
	default: // a delimiter in the host would make it another URL
		if _, f = host(part{bracket(u.Host), len(u.beforeHost())}); f == nil {
			_, f = ftpurl(text)
		}
	}
	if f == nil {
		return nil
	}
	return &Error{Input: u.Redacted(), Column: f.at + 1, Reason: f.reason, Hint: f.hint, kind: f.kind}
}
