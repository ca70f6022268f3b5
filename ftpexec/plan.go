package ftpexec

import (
	"net"
	"strconv"
	"strings"

	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// PasswordKind says where the argument of PASS comes from. The password itself is never part of a [Plan].
type PasswordKind int

const (
	// PasswordNone: the command is no PASS.
	PasswordNone PasswordKind = iota
	// PasswordAnonymous: the URL names no user; PASS carries an e-mail address (RFC 1738 section 3.2.1).
	PasswordAnonymous
	// PasswordGiven: the URL carries the password (perhaps a null one).
	PasswordGiven
	// PasswordAsked: the password is asked for when the server wants it.
	PasswordAsked
)

// Command is one FTP command of a [Plan].
type Command struct {
	Verb     string       // the command of RFC 959, in capitals
	Arg      string       // its argument, octets as they go on the wire; "" where HasArg is a null argument
	HasArg   bool         // false: the bare verb; true with Arg "": the verb, a space and nothing ("CWD ")
	Password PasswordKind // for PASS: where the argument comes from; Arg stays ""
}

// Plan is what a URL means as FTP commands, in the order of RFC 1738 section 3.2.2. A Plan is a value:
// it holds no connection and no password.
//
// Run on a server, the commands travel with the data-connection set-up (EPSV, or PASV, or EPRT and PORT)
// before the RETR or NLST, with the questions of Facts, and with a closing QUIT; see [Plan.Wire]. Only where
// it is needed, more goes out: FEAT behind the login, and OPTS UTF8 ON where FEAT offers it, for names that are
// UTF-8 beyond ASCII; CWD behind an NLST with an argument that lists nothing, for some servers list nothing of a
// directory that does not exist; MLST at the end, where neither SIZE nor the reply to RETR has told the size of
// a file in image type; PWD and the ways back of a [Session].
type Plan struct {
	Host     string          // the URL's host, IPv6 without brackets
	Port     int             // 1 to 65535
	Scheme   urlparse.Scheme // how the control connection is protected: ftpes by AUTH TLS (RFC 4217), ftps by TLS from the first octet
	Commands []Command       // from USER (or, for ftpes, AUTH TLS) to RETR or NLST
	Facts    []Command       // SIZE and MDTM (RFC 3659) for a file in image type, MDTM in ASCII type; a refusal is no error
}

// NewPlan turns u into its plan. It is pure. The error is u's own ([urlparse.URL.Check]).
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
	p.Facts = facts(u)
	return p, nil
}

// protection is RFC 4217 sections 4 and 9. With implicit TLS the data connection's PBSZ and PROT go out
// as set-up; the plan shows " TLS" behind CONNECT instead.
func protection(s urlparse.Scheme) []Command {
	if s != urlparse.FTPES {
		return nil
	}
	return []Command{withArg("AUTH", "TLS"), withArg("PBSZ", "0"), withArg("PROT", "P")}
}

// login is RFC 1738 section 3.2.1: no user means anonymous.
func login(u *urlparse.URL) []Command {
	pass := withArg("PASS", "")
	switch {
	case !u.User.Set:
		pass.Password = PasswordAnonymous
		return []Command{withArg("USER", "anonymous"), pass}
	case u.Password.Set:
		pass.Password = PasswordGiven
	default:
		pass.Password = PasswordAsked
	}
	return []Command{withArg("USER", u.User.Value), pass}
}

// transfer is the end of RFC 1738 section 3.2.2. TYPE A stands before NLST because RFC 959 wants a
// listing in ASCII type and leaves it to the user to see to that.
func transfer(u *urlparse.URL) []Command {
	if u.IsDir() {
		nlst := Command{Verb: "NLST", Arg: u.Name, HasArg: u.Name != ""}
		return []Command{withArg("TYPE", "A"), nlst}
	}
	t := "I"
	if u.Type == urlparse.TypeASCII {
		t = "A"
	}
	return []Command{withArg("TYPE", t), withArg("RETR", u.Name)}
}

// facts are the questions of RFC 3659 sections 3 and 4. SIZE in ASCII type means other octets than the
// server's disk holds, and many refuse it: it is asked in image type only.
func facts(u *urlparse.URL) []Command {
	switch {
	case u.IsDir():
		return nil
	case u.Type == urlparse.TypeASCII:
		return []Command{withArg("MDTM", u.Name)}
	}
	return []Command{withArg("SIZE", u.Name), withArg("MDTM", u.Name)}
}

func withArg(verb, arg string) Command { return Command{Verb: verb, Arg: arg, HasArg: true} }

// Line returns the command as octets on the wire, without CR LF. The argument of PASS is left out.
func (c Command) Line() string {
	if !c.HasArg {
		return c.Verb
	}
	return c.Verb + " " + c.Arg
}

// String returns the command as --dry-run prints it: octets outside 0x20-0x7e as \xNN, a backslash as \\,
// and for PASS where the password comes from in place of the password. What follows a colon in the argument of
// USER is hidden: it is the password of a URL whose colon was encoded.
func (c Command) String() string {
	switch c.Password {
	case PasswordAnonymous:
		return "PASS <anonymous>"
	case PasswordGiven:
		return "PASS ********"
	case PasswordAsked:
		return "PASS <prompt>"
	}
	return printable.Octets(hideSlip(c.Line()))
}

// traced returns the command for a trace, octets as on the wire but for what is secret.
func (c Command) traced() string {
	switch c.Password {
	case PasswordNone:
		return hideSlip(c.Line())
	case PasswordAnonymous:
		return c.String()
	}
	return c.Verb + " ********"
}

// hideSlip hides what follows a colon in a USER command: a password, where the colon of a URL was encoded.
func hideSlip(line string) string {
	name, slip, _ := strings.Cut(line, ":")
	if slip == "" || !strings.HasPrefix(name, "USER ") {
		return line
	}
	return name + ":********"
}

// String returns the plan in the --dry-run format, one command a line, every line ended by LF.
func (p *Plan) String() string {
	var b strings.Builder
	b.WriteString("CONNECT " + net.JoinHostPort(p.Host, strconv.Itoa(p.Port)))
	if p.Scheme == urlparse.FTPS {
		b.WriteString(" TLS")
	}
	b.WriteByte('\n')
	for _, c := range p.Commands {
		b.WriteString(c.String())
		b.WriteByte('\n')
	}
	return b.String()
}

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

// find returns the plan's only command with this verb; the zero Command where there is none.
func (p *Plan) find(verb string) Command {
	for _, c := range p.Commands {
		if c.Verb == verb {
			return c
		}
	}
	return Command{}
}

// final returns the RETR or NLST that ends the plan.
func (p *Plan) final() Command { return p.Commands[len(p.Commands)-1] }
