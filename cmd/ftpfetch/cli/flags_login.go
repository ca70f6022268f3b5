package cli

import (
	"example.com/ftpfetch/urlparse"
)

// loginOptions is the values of flags that say where logins come from.
type loginOptions struct {
	passwordStdin     bool
	stdinLogin        login // whom --password-stdin is for
	useNetrc, noNetrc bool
	netrcFile         string
}

// loginFlags declares the flags of where logins come from.
func (o *loginOptions) loginFlags(fs group) {
	fs.BoolVar(&o.passwordStdin, "password-stdin", false, "read the password, one line, from standard input")
	fs.BoolVarP(&o.useNetrc, "netrc", "n", false, "take the user from the netrc file too where the URL names none")
	fs.StringVar(&o.netrcFile, "netrc-file", "", "use `FILE` in place of ~/.netrc, and as with --netrc")
	fs.BoolVar(&o.noNetrc, "no-netrc", false, "read no netrc file")
}

// checkSecurity checks the flags of logins, TLS and proxies.
func (o *options) checkSecurity(given func(flag string) bool) error {
	if err := o.checkLogin(given); err != nil {
		return err
	}
	if o.certKey != "" && o.clientCert == "" {
		return usage("--key goes with a certificate: write --cert FILE too")
	}
	return o.checkProxy(given("proxy"))
}

// checkLogin refuses logins that contradict each other.
func (o *options) checkLogin(given func(flag string) bool) error {
	switch {
	case o.noNetrc && (o.useNetrc || given("netrc-file")):
		return usage("--no-netrc contradicts --netrc and --netrc-file: leave one out")
	case given("netrc-file") && o.netrcFile == "":
		return usage("--netrc-file names no file: write --netrc-file FILE")
	}
	o.useNetrc = o.useNetrc || o.netrcFile != ""
	if !o.passwordStdin {
		return nil
	}
	return o.checkStdin()
}

// checkStdin finds whom the password on standard input is for: the user of -u
// on all hosts, else the user of the one URL on its host. It is never sent to
// another one.
func (o *options) checkStdin() error {
	user, password := o.login()
	for _, raw := range o.urls {
		u, err := urlparse.Parser{AllowPort: true}.Parse(raw)
		if err != nil {
			continue // it is reported when its turn comes
		}
		if u.Password.Set {
			return usage("--password-stdin and a password in the URL contradict each other: leave one out")
		}
		if !user.Set && len(o.urls) == 1 {
			user, o.stdinLogin.host = u.User, u.Host
		}
	}
	switch {
	case password.Set:
		return usage("--password-stdin and a password in -u contradict each other: write -u NAME")
	case !user.Set:
		return usage("--password-stdin: whose password is it? write -u NAME")
	}
	o.stdinLogin.user = user.Value
	return nil
}
