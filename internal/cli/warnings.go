package cli

import (
	"net/url"
	"slices"

	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/urlparse"
)

// warn prints warnings about an unsafe command line, once per run. Not even -q
// hides the warning that certificates are not checked.
func warn(p *show.Printer, c *config.Config) {
	if c.DryRun {
		return // nothing is sent
	}
	if c.Insecure && usesTLS(c) {
		p.Warning("--insecure: certificates are not checked, anyone may be the server")
	}
	if where := passwordShown(c); where != "" && !c.Quiet {
		p.Warning("other users can see the password " + where + " in the list of processes; " + insteadOfShowing[where])
	}
}

// usesTLS reports whether a URL of the run may be retrieved over TLS.
func usesTLS(c *config.Config) bool {
	return slices.ContainsFunc(c.Targets, func(t config.Target) bool {
		return t.Err == nil && (t.URL.Scheme != urlparse.FTP || c.TLS != "")
	})
}

// insteadOfShowing maps each place of a password to what to write instead.
var insteadOfShowing = map[string]string{
	"of -u":      "leave it out to be asked, or use --password-stdin or a netrc file",
	"of a URL":   "leave it out to be asked, or use --password-stdin or a netrc file",
	"of --proxy": "put the URL into the variable ALL_PROXY instead",
}

// shows reports whether a login holds what may be a secret. An empty password does not count, nor does that of an
// anonymous login.
func shows(login *url.Userinfo) bool {
	user := login.Username()
	password, _ := login.Password()
	return (password != "" || hideSlip(user) != user) && !anonymous(user)
}

// passwordShown returns where the command line shows a password, or "".
func passwordShown(c *config.Config) string {
	if shows(c.User) {
		return "of -u"
	}
	for _, t := range c.Targets {
		if t.Err == nil && shows(t.URL.User) {
			return "of a URL"
		}
	}
	if c.Proxy != nil && c.Proxy.HasPassword() {
		return "of --proxy"
	}
	return ""
}
