package cli

import (
	"slices"

	"example.com/ftpfetch/urlparse"
)

// warn prints warnings about an unsafe command line, once per run. Not even -q
// hides the warning that certificates are not checked.
func (o *options) warn(p *printer) {
	if o.dryRun {
		return // nothing is sent
	}
	if o.insecure && o.usesTLS() {
		p.warning("--insecure: certificates are not checked, anyone may be the server")
	}
	if where := o.passwordShown(); where != "" && !o.quiet {
		p.warning("other users can see the password " + where + " in the list of processes; " + insteadOfShowing[where])
	}
}

// usesTLS reports whether a URL of the run may be retrieved over TLS.
func (o *options) usesTLS() bool {
	return slices.ContainsFunc(o.targets, func(t target) bool {
		return t.err == nil && (t.url.Scheme != urlparse.FTP || o.tls != tlsOff)
	})
}

// insteadOfShowing maps each place of a password to what to write instead.
var insteadOfShowing = map[string]string{
	"of -u":      "leave it out to be asked, or use --password-stdin or a netrc file",
	"of a URL":   "leave it out to be asked, or use --password-stdin or a netrc file",
	"of --proxy": "put the URL into the variable ALL_PROXY instead",
}

// passwordShown returns where the command line shows a password, or "". An empty
// password does not count, nor does that of an anonymous login.
func (o *options) passwordShown() string {
	if user, password := o.login(); password.Value != "" && !anonymous(user.Value) {
		return "of -u"
	}
	for _, t := range o.targets {
		if u := t.url; t.err == nil && (u.Password.Value != "" || hideSlip(u.User.Value) != u.User.Value) && !anonymous(u.User.Value) {
			return "of a URL"
		}
	}
	if o.proxy != "" && o.via != nil && o.via.HasPassword() {
		return "of --proxy"
	}
	return ""
}
