package ftpexec

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/ftpfetch/urlparse"
)

// step is one command of a run.
type step struct {
	Command
	waits string // why it does not leave before every earlier reply is there; "" where it may
	back  bool   // a CWD that leads back to where the login began
}

// Why a step waits. Replies come in the order of commands (RFC 959 section 5.4), so a command that depends on no
// reply leaves together with the one before it.
const (
	forTLS         = "nothing is sent after AUTH in clear, or into the handshake"
	forTheQuestion = "a real password is not handed out before the server asks for it (331)"
	forFeatures    = "OPTS goes only to servers that offer it"
	forLogin       = "what was sent before the account was, was sent without being logged in"
	forFirewalls   = "in clear, firewalls look for the reply to EPSV only at the start of a packet"
	forRefusal     = "the other way to open the data connection is for where this one is refused"
	forThePort     = "a transfer needs the port; and a refused CWD must not lead to another directory's file"
	forTheOffset   = "where REST is refused, RETR would bring the whole file"
)

// course is what the steps of a run depend on, beyond the plan.
type course struct {
	goal
	fresh   bool     // on a new connection
	auth    bool     // TLS is asked for, although the plan can do without
	once    bool     // for one URL only: nothing is asked for the sake of a second
	home    string   // where a way that leads back begins; "" for one that goes on from where the server is
	way     []string // the CWDs to go from there
	typ     string   // the type that is set already
	setUp   []string // EPSV, PASV, EPRT or PORT, the second where the first is refused
	inClear bool     // the data connection's set-up can be read by firewalls
}

// steps is the run: RFC 1738 section 3.2.2, with what goes before, between and after. It is the one list of what is
// sent and what may travel together; [Session.judge] says what the replies mean.
func (p *Plan) steps(c course) (list []step) {
	add := func(commands ...Command) {
		for _, command := range commands {
			list = append(list, step{Command: command})
		}
	}
	if c.fresh {
		list = p.loginSteps(c)
	}
	if c.home != "" {
		list = append(list, step{Command: withArg("CWD", c.home), back: true})
	}
	for _, dir := range c.way {
		add(withArg("CWD", dir))
	}
	if t := p.find("TYPE"); t.Arg != c.typ {
		add(t)
	}
	early := len(list) > 0 || c.factsOnly // SIZE and MDTM inform: they go along with what there is
	if early {
		add(p.Facts...)
	}
	if c.factsOnly {
		return list
	}
	for i, verb := range c.setUp {
		st := step{Command: Command{Verb: verb}}
		switch {
		case i > 0:
			st.waits = forRefusal
		case c.inClear:
			st.waits = forFirewalls
		}
		list = append(list, st)
	}
	ready := len(list)
	if !early {
		add(p.Facts...)
	}
	if c.offset > 0 {
		add(withArg("REST", fmt.Sprint(c.offset)))
	}
	add(p.final())
	if c.offset > 0 {
		list[len(list)-1].waits = forTheOffset
	}
	list[ready].waits = forThePort
	return list
}

// loginSteps are RFC 4217, RFC 1738 section 3.2.1, and what is asked once a login.
func (p *Plan) loginSteps(c course) (list []step) {
	if p.Scheme == urlparse.FTPES || c.auth {
		list = append(list, step{Command: withArg("AUTH", "TLS")})
	}
	if p.Scheme != urlparse.FTP || c.auth {
		list = append(list, step{Command: withArg("PBSZ", "0"), waits: forTLS}, step{Command: withArg("PROT", "P")})
	}
	password := step{Command: p.find("PASS")}
	if password.Password != PasswordAnonymous {
		password.waits = forTheQuestion
	}
	list = append(list, step{Command: p.find("USER")}, password)
	if p.needsUTF8() {
		list = append(list, step{Command: Command{Verb: "FEAT"}}, step{Command: withArg("OPTS", "UTF8 ON"), waits: forFeatures})
	}
	if !c.once { // the way back, for the next URL
		list = append(list, step{Command: Command{Verb: "PWD"}})
	}
	return list
}

// Wire returns every command that a run of the plan on a new connection sends, in order, where nothing is refused:
// the plan's commands with what belongs to them, setup (such as "EPSV") before the transfer, and QUIT.
func (p *Plan) Wire(setup string) []Command {
	var all []Command
	for _, st := range p.steps(course{fresh: true, once: true, way: p.dirs(), setUp: []string{setup}}) {
		if st.Verb != "FEAT" && st.Verb != "OPTS" { // for some names and some servers only
			all = append(all, st.Command)
		}
	}
	return append(all, Command{Verb: "QUIT"})
}

// ascii reports whether no name holds an octet beyond ASCII.
func (p *Plan) ascii() bool { return !slices.ContainsFunc(p.Commands, beyondASCII) }

// needsUTF8 reports whether a name is UTF-8 beyond ASCII: then the server is asked whether it wants to be told (OPTS
// UTF8 ON).
func (p *Plan) needsUTF8() bool {
	return slices.ContainsFunc(p.Commands, func(c Command) bool { return utf8.ValidString(c.Arg) && beyondASCII(c) })
}

func beyondASCII(c Command) bool {
	return strings.ContainsFunc(c.Arg, func(r rune) bool { return r >= utf8.RuneSelf })
}
