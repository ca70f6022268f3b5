package cli

import "github.com/spf13/pflag"

// loginOptions holds the flags that say where logins come from.
type loginOptions struct {
	passwordStdin bool
	stdinLogin    login  // the user and host that --password-stdin is for
	netrcFile     string // the value of --netrc
}

func (o *options) loginFlags() group {
	fs := newGroup("Login")
	fs.StringVarP(&o.user, "user", "u", "", "log in as `NAME[:PASSWORD]` if the URL names no user")
	fs.BoolVar(&o.noPrompt, "no-prompt", false, "never ask for a password")
	fs.BoolVar(&o.passwordStdin, "password-stdin", false, "read the password, one line, from standard input")
	fs.StringVarP(&o.netrcFile, "netrc", "n", "", "take the user too from ~/.netrc, or from `FILE`, if the URL names none; =none ignores the netrc file")
	fs.Lookup("netrc").NoOptDefVal = usualNetrc
	return fs
}

// What --netrc says besides a file.
const (
	usualNetrc = "~/.netrc" // the file that is always read, which now also gives users
	noNetrc    = "none"
)

// useNetrc reports whether the netrc file also gives users.
func (o *loginOptions) useNetrc() bool { return o.netrcFile != "" && o.netrcFile != noNetrc }

// checkLogin refuses logins that contradict each other.
func (o *options) checkLogin(all *pflag.FlagSet) error {
	if all.Changed("netrc") && o.netrcFile == "" {
		return usage("--netrc= names no file: write --netrc=FILE")
	}
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
