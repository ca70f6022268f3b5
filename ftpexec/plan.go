package ftpexec

import (
	"cmp"
	"slices"
	"strings"

	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// Command is one FTP command of a [Plan].
type Command struct {
	Verb     string // the command code in upper case, such as "RETR"
	Arg      string // the argument, byte for byte as sent; "" for PASS
	Optional bool   // the server may refuse it: SIZE and MDTM (RFC 3659)
	Secret   bool   // it sends the URL's password, or what Credentials supplies

	shows string // what is shown in place of Arg, because it is or may hold a password; "" if Arg is shown
}

// Plan is the sequence of FTP commands that a URL means (RFC 1738 section 3.2.2). It is a plain value without a connection
// or a password.
//
// When a plan runs, the client also sends the commands that set up the data connection (EPSV and PASV, or EPRT and PORT)
// before RETR or NLST, and QUIT at the end. It sends others only if they are needed:
//
//   - AUTH, PBSZ and PROT, for Client.TryTLS; PBSZ and PROT for ftps URLs
//   - ACCT, if the server replies 332
//   - FEAT after the login if a name contains UTF-8 beyond ASCII, and OPTS UTF8 ON if FEAT offers it
//   - REST, for Request.Offset
//   - MLSD, LIST -a or LIST in place of NLST, for Entries, which enters the directory that NLST names with CWD
//   - CWD after an NLST with an argument that lists nothing, because some servers also list nothing for a directory
//     that does not exist
//   - MLST after a file in image type, if neither SIZE nor the reply to RETR has told its size
//   - MLST, or CWD to the name after SIZE and MDTM, for a Stat of a directory's URL
//   - PWD after the login, and CWD to return to that directory, if the connection is kept for another URL
type Plan struct {
	Commands []Command // from USER, or AUTH for ftpes (RFC 4217), to RETR or NLST

	connect string // the first line of String
}

// NewPlan returns the plan for u. It uses no network. The error is that of [urlparse.URL.Check].
func NewPlan(u *urlparse.URL) (*Plan, error) {
	if err := u.Check(); err != nil {
		return nil, err
	}
	p := &Plan{connect: "CONNECT " + u.Address()}
	if u.Scheme == urlparse.FTPS {
		p.connect += " TLS"
	}
	_, mask := masking(u)
	for _, st := range steps(u, course{fresh: true, bare: true}) {
		p.Commands = append(p.Commands, mask(st.Command))
	}
	return p, nil
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

// Line returns the command as sent, byte for byte, without CR LF. For PASS the argument is left out.
func (c Command) Line() string {
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
	return c.Line()
}

// traced returns the command for a trace: byte for byte as sent, except that secrets are masked.
func (c Command) traced() string {
	if c.Secret {
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

// String returns the plan as ftpfetch --dry-run prints it: a line CONNECT host:port, followed by " TLS" for ftps, and a
// line for each command that is not optional. Every line ends in LF.
func (p *Plan) String() string {
	var b strings.Builder
	b.WriteString(p.connect + "\n")
	for _, c := range p.Commands {
		if !c.Optional {
			b.WriteString(c.String() + "\n")
		}
	}
	return b.String()
}

// lists reports whether the command lists a directory.
func (c Command) lists() bool { return c.Verb == "NLST" || c.Verb == "LIST" || c.Verb == "MLSD" }

// transfers reports whether the command starts a transfer.
func (c Command) transfers() bool { return c.Verb == "RETR" || c.lists() }
