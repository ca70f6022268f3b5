package ftpexec

import (
	"cmp"
	"slices"

	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// Command is an FTP command.
type Command struct {
	Verb string // the command code in upper case, such as "RETR"
	Arg  string // the argument, byte for byte as sent; "" for PASS

	secret bool   // it sends the URL's password, or what Credentials supplies
	shows  string // what is shown in place of Arg, because it is or may hold a password; "" if Arg is shown
}

// Plan returns the commands that u means, in their order (RFC 1738 section 3.2.2), without a password. The first stands for
// the connection: CONNECT host:port, followed by " TLS" for ftps. The last is RETR or NLST. Plan uses no network. The error
// is that of [urlparse.URL.Check].
//
// A Client also sends SIZE and MDTM (RFC 3659), which tell about a file, the commands that set up the data connection (EPSV
// and PASV, or EPRT and PORT), QUIT, and what a server or a request calls for: AUTH, PBSZ, PROT, ACCT, FEAT, OPTS, REST,
// MLST, PWD, and MLSD or LIST in place of NLST.
func Plan(u *urlparse.URL) ([]Command, error) {
	if err := u.Check(); err != nil {
		return nil, err
	}
	plan := []Command{withArg("CONNECT", u.Address())}
	if u.Scheme == urlparse.FTPS {
		plan[0].Arg += " TLS"
	}
	_, mask := masking(u)
	for _, st := range steps(u, course{fresh: true, bare: true}) {
		plan = append(plan, mask(st.Command))
	}
	return plan, nil
}

const stars = "********"

// masking returns the segment of u that may hold a password, or "", and a function that hides it in a command.
func masking(u *urlparse.URL) (slip string, mask func(Command) Command) {
	shown := u.WithoutPassword()
	if u.User != nil || shown.String() == u.String() {
		return "", func(c Command) Command { return c }
	}
	slip, shows := append(slices.Clone(u.Dirs), u.Name)[0], append(slices.Clone(shown.Dirs), shown.Name)[0]
	return slip, func(c Command) Command {
		if c.Arg == slip {
			c.shows = shows
		}
		return c
	}
}

func withArg(verb, arg string) Command { return Command{Verb: verb, Arg: arg} }

// line returns the command as sent, byte for byte, without CR LF. For PASS the argument is left out.
func (c Command) line() string {
	if c.Arg == "" && !verbs[c.Verb].null {
		return c.Verb
	}
	return c.Verb + " " + c.Arg
}

// String returns the command as ftpfetch --dry-run prints it. Bytes outside 0x20-0x7e are written as \xNN, a backslash
// as \\. The argument of PASS is <anonymous>, <prompt> or stars. In the argument of USER stars replace what follows a
// colon: it may be the password of a URL whose colon was encoded by mistake.
func (c Command) String() string { return printable.Octets(c.display()) }

func (c Command) display() string {
	c.Arg = cmp.Or(c.shows, c.Arg)
	return c.line()
}

// traced returns the command for a trace: byte for byte as sent, except that secrets are masked.
func (c Command) traced() string {
	if c.secret {
		return c.Verb + " " + stars
	}
	return c.display()
}

// shown returns the command for [Error.Op], without an argument that may be secret.
func (c Command) shown() string {
	if verbs[c.Verb].stage == "login" {
		return c.Verb
	}
	return c.display()
}
