package cli

import "github.com/spf13/pflag"

// loginOptions is the values of flags that say where logins come from.
type loginOptions struct {
	passwordStdin     bool
	stdinLogin        login // whom --password-stdin is for
	useNetrc, noNetrc bool
	netrcFile         string
}

func (o *options) loginFlags() group {
	fs := newGroup("Login")
	fs.StringVarP(&o.user, "user", "u", "", "log in as `NAME[:PASSWORD]` where the URL names no user")
	fs.StringVar(&o.client.Email, "email", "", "send `ADDR` as the anonymous password")
	fs.StringVar(&o.account, "account", "", "answer a server that asks for an account with `NAME`")
	fs.BoolVar(&o.noPrompt, "no-prompt", false, "never ask for a password")
	fs.BoolVar(&o.passwordStdin, "password-stdin", false, "read the password, one line, from standard input")
	fs.BoolVarP(&o.useNetrc, "netrc", "n", false, "take the user from the netrc file too where the URL names none")
	fs.StringVar(&o.netrcFile, "netrc-file", "", "use `FILE` in place of ~/.netrc, and as with --netrc")
	fs.BoolVar(&o.noNetrc, "no-netrc", false, "read no netrc file")
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

// checkStdin finds whom the password on standard input is for: the user of -u
// on all hosts, else the user of the one URL on its host. It is never sent to
// another one.
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
