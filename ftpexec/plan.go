package ftpexec

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"

	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// Command is one FTP command of a [Plan].
type Command struct {
	Verb     string // the command code in upper case, such as "RETR"
	Arg      string // the argument, byte for byte as sent; "" for PASS
	HasArg   bool   // if it is set and Arg is "", the command is sent with a null argument: "CWD "
	Optional bool   // the server may refuse it: SIZE and MDTM (RFC 3659)
	Secret   bool   // it sends the URL's password, or what Credentials supplies

	stands string // what is shown for the argument of PASS
	masked string // Arg as it is shown, if it holds what may be a password
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
//   - PWD after the login of a [Session], and CWD to return to that directory
type Plan struct {
	Host     string          // the URL's host; an IPv6 address has no brackets
	Port     int             // 1 to 65535
	Scheme   urlparse.Scheme // the protection: ftpes is AUTH TLS (RFC 4217), ftps is TLS from the first byte
	Commands []Command       // from USER, or AUTH for ftpes, to RETR or NLST

	slip, masked string // a segment that may hold a password, and as it is shown
}

// NewPlan returns the plan for u. It uses no network. The error is that of [urlparse.URL.Check].
func NewPlan(u *urlparse.URL) (*Plan, error) {
	if err := u.Check(); err != nil {
		return nil, err
	}
	p := &Plan{Host: u.Host, Port: u.PortOrDefault(), Scheme: u.Scheme}
	p.Commands = append(p.Commands, protection(p.Scheme)...)
	p.Commands = append(p.Commands, login(u)...)
	for _, dir := range u.Dirs {
		p.Commands = append(p.Commands, withArg("CWD", dir))
	}
	p.Commands = append(p.Commands, transfer(u)...)
	if shown := u.WithoutPassword(); u.User == nil && shown.String() != u.String() {
		p.slip, p.masked = append(slices.Clone(u.Dirs), u.Name)[0], append(slices.Clone(shown.Dirs), shown.Name)[0]
		for i, c := range p.Commands {
			p.Commands[i] = p.mask(c)
		}
	}
	return p, nil
}

// mask returns the command as it is shown if its argument is the plan's slip.
func (p *Plan) mask(c Command) Command {
	if p.slip != "" && c.Arg == p.slip {
		c.masked = p.masked
	}
	return c
}

// protection returns the commands of RFC 4217 sections 4 and 9. For ftps the plan shows " TLS" after CONNECT instead, and
// loginSteps adds PBSZ and PROT.
func protection(s urlparse.Scheme) []Command {
	if s != urlparse.FTPES {
		return nil
	}
	return []Command{withArg("AUTH", "TLS"), withArg("PBSZ", "0"), withArg("PROT", "P")}
}

// login returns USER and PASS: no user means anonymous (RFC 1738 section 3.2.1).
func login(u *urlparse.URL) []Command {
	pass := withArg("PASS", "")
	if u.User == nil {
		pass.stands = "<anonymous>"
		return []Command{withArg("USER", "anonymous"), pass}
	}
	pass.Secret, pass.stands = true, "<prompt>"
	if _, ok := u.User.Password(); ok {
		pass.stands = "********"
	}
	return []Command{withArg("USER", u.User.Username()), pass}
}

// transfer returns the last commands of RFC 1738 section 3.2.2. NLST needs TYPE A: RFC 959 section 4.1.3 sends a
// listing in ASCII type and leaves it to the user to set that. SIZE and MDTM (RFC 3659 sections 4 and 3) tell about the file;
// SIZE is for image type only: in ASCII type it counts converted line ends, and many servers refuse it.
func transfer(u *urlparse.URL) []Command {
	if u.IsDir() {
		nlst := Command{Verb: "NLST", Arg: u.Name, HasArg: u.Name != ""}
		return []Command{withArg("TYPE", "A"), nlst}
	}
	if u.Type == urlparse.TypeASCII {
		return []Command{withArg("TYPE", "A"), optional("MDTM", u.Name), withArg("RETR", u.Name)}
	}
	return []Command{withArg("TYPE", "I"), optional("SIZE", u.Name), optional("MDTM", u.Name), withArg("RETR", u.Name)}
}

func withArg(verb, arg string) Command { return Command{Verb: verb, Arg: arg, HasArg: true} }

func optional(verb, arg string) Command {
	return Command{Verb: verb, Arg: arg, HasArg: true, Optional: true}
}

// Line returns the command as sent, byte for byte, without CR LF. For PASS the argument is left out.
func (c Command) Line() string {
	if !c.HasArg {
		return c.Verb
	}
	return c.Verb + " " + c.Arg
}

// String returns the command as ftpfetch --dry-run prints it. Bytes outside 0x20-0x7e are written as \xNN, a backslash
// as \\. The argument of PASS is <anonymous>, <prompt> or stars. In the argument of USER stars replace what follows a
// colon: it may be the password of a URL whose colon was encoded by mistake.
func (c Command) String() string {
	if c.stands != "" {
		return c.Verb + " " + c.stands
	}
	return printable.Octets(hideSlip(c.withMask().Line()))
}

func (c Command) withMask() Command {
	c.Arg = cmp.Or(c.masked, c.Arg)
	return c
}

// traced returns the command for a trace: byte for byte as sent, except that secrets are masked.
func (c Command) traced() string {
	switch {
	case c.Secret:
		return c.Verb + " ********"
	case c.stands != "":
		return c.String()
	}
	return hideSlip(c.withMask().Line())
}

// hideSlip masks what follows a colon in a USER command: a password, if the colon in a URL was encoded by mistake.
func hideSlip(line string) string {
	name, slip, _ := strings.Cut(line, ":")
	if slip == "" || !strings.HasPrefix(name, "USER ") {
		return line
	}
	return name + ":********"
}

// String returns the plan as ftpfetch --dry-run prints it: a line CONNECT host:port, followed by " TLS" for ftps, and a
// line for each command that is not optional. Every line ends in LF.
func (p *Plan) String() string {
	var b strings.Builder
	b.WriteString("CONNECT " + net.JoinHostPort(p.Host, strconv.Itoa(p.Port)))
	if p.Scheme == urlparse.FTPS {
		b.WriteString(" TLS")
	}
	b.WriteByte('\n')
	for _, c := range p.Commands {
		if !c.Optional {
			b.WriteString(c.String() + "\n")
		}
	}
	return b.String()
}

// listing returns the plan with op at its end, in place of a listing. It enters the directory that an NLST names, because
// servers read an argument of LIST as they like.
func (p *Plan) listing(op Command) *Plan {
	q, last := *p, len(p.Commands)-1
	q.Commands = slices.Clone(p.Commands)
	if final := p.final(); final.Verb == "NLST" && final.HasArg {
		q.Commands = slices.Insert(q.Commands, last-1, withArg("CWD", final.Arg)) // before TYPE
	}
	q.Commands[len(q.Commands)-1] = op
	return &q
}

// lists reports whether the command lists a directory.
func (c Command) lists() bool { return c.Verb == "NLST" || c.Verb == "LIST" || c.Verb == "MLSD" }

// transfers reports whether the command starts a transfer.
func (c Command) transfers() bool { return c.Verb == "RETR" || c.lists() }

// dirs returns the arguments of the plan's CWD commands, in order.
func (p *Plan) dirs() []string {
	var dirs []string
	for _, c := range p.Commands {
		if c.Verb == "CWD" {
			dirs = append(dirs, c.Arg)
		}
	}
	return dirs
}

// find returns the plan's only command with this verb, or the zero Command.
func (p *Plan) find(verb string) Command {
	for _, c := range p.Commands {
		if c.Verb == verb {
			return c
		}
	}
	return Command{}
}

// final returns the RETR or the listing that ends the plan.
func (p *Plan) final() Command { return p.Commands[len(p.Commands)-1] }

// facts returns the optional commands, which ask about the file.
func (p *Plan) facts() (list []Command) {
	for _, c := range p.Commands {
		if c.Optional {
			list = append(list, c)
		}
	}
	return list
}
