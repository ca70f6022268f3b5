package cli

import "github.com/spf13/pflag"

// loginOptions holds the flags that say where logins come from.
type loginOptions struct {
	passwordStdin     bool
	stdinLogin        login // the user and host that --password-stdin is for
	useNetrc, noNetrc bool
	netrcFile         string
}

func (o *options) loginFlags() group {
	fs := newGroup("Login")
	fs.StringVarP(&o.user, "user", "u", "", "log in as `NAME[:PASSWORD]` if the URL names no user")
	fs.StringVar(&o.client.Email, "email", "", "send `ADDR` as the anonymous password")
	fs.StringVar(&o.account, "account", "", "send the account `NAME` if the server asks for one")
	fs.BoolVar(&o.noPrompt, "no-prompt", false, "never ask for a password")
	fs.BoolVar(&o.passwordStdin, "password-stdin", false, "read the password, one line, from standard input")
	fs.BoolVarP(&o.useNetrc, "netrc", "n", false, "also take the user from the netrc file if the URL names none")
	fs.StringVar(&o.netrcFile, "netrc-file", "", "use `FILE` instead of ~/.netrc; implies --netrc")
	fs.BoolVar(&o.noNetrc, "no-netrc", false, "ignore the netrc file")
	return fs
}

// checkLogin refuses logins that contradict each other.
func (o *options) checkLogin(all *pflag.FlagSet) error {
	switch named := all.Changed("netrc-file"); {
	case o.noNetrc && (o.useNetrc || named):
		return usage("--no-netrc contradicts --netrc and --netrc-file: leave one out")
	case named && o.netrcFile == "":
		return usage("--netrc-file names no file: write --netrc-file FILE")
	}
	o.useNetrc = o.useNetrc || o.netrcFile != ""
	if !o.passwordStdin {
		return nil
	}
	return o.checkStdin()
}

// checkStdin finds whose password standard input holds: that of the -u user on
// all hosts, or else that of the only URL's user on its host. No other login
// gets it.
func (o *options) checkStdin() error {
	user, password := o.login()
	for _, t := range o.targets {
		switch {
		case t.err != nil: // it is reported when its turn comes
		case t.url.Password.Set:
			return usage("--password-stdin and a password in the URL contradict each other: leave one out")
		case !user.Set && len(o.targets) == 1:
			user, o.stdinLogin.host = t.url.User, t.url.Host
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
