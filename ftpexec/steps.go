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
	waits string   // why it is not sent before all earlier replies have come; "" if it may be
	back  bool     // a CWD that returns to the directory after the login, or one below it
	to    []string // where it returns to
	file  int      // of a batch: which file it is for
	ahead bool     // it was sent at the end of the last transfer
	probe bool     // a CWD that asks whether a name is that of a directory
}

// The reasons why a step waits. Replies come in the order of the commands (RFC 959 section 5.4), so a command that does
// not depend on a reply is sent together with the one before it.
const (
	forTLS         = "what follows AUTH would be sent unencrypted or into the handshake"
	forTheQuestion = "a real password is sent only after the server asks for it (331)"
	forFeatures    = "OPTS is sent only to servers that offer it"
	forLogin       = "without the account the login is not complete"
	forFirewalls   = "firewalls look for the reply to EPSV only at the start of a packet"
	forRefusal     = "the second way to open the data connection is for servers that refuse the first"
	forThePort     = "a transfer needs the port, and after a refused CWD it would bring a file from another directory"
	forTheOffset   = "after a refused REST, RETR would bring the whole file"
)

// course is what the steps of a run depend on, beyond the plan.
type course struct {
	goal
	fresh   bool     // on a new connection
	auth    bool     // send AUTH although the plan does not require TLS
	once    bool     // for one URL only: send nothing for the sake of a second one
	place            // the working directory
	ahead   string   // the EPSV or PASV that is sent already; if the server refuses it, it is sent again
	typ     string   // the type that is set already
	setUp   []string // EPSV and PASV, or EPRT and PORT; the second is for servers that refuse the first
	inClear bool     // firewalls can read the set-up of the data connection
}

// ways are the commands that list a directory, the one that tells most first (RFC 3659 section 7, RFC 959 section 4.1.3).
// Without "-a", which is in no RFC, vsftpd and others leave out the names that begin with a dot. The next way is for
// servers that do not give the one before; see [unlisted].
var ways = []Command{{Verb: "MLSD"}, withArg("LIST", "-a"), {Verb: "LIST"}, {Verb: "NLST"}}

// steps returns the commands of a run: those of RFC 1738 section 3.2.2 and what is sent before and between them. It is
// the one list of what is sent and what may travel together; [Session.judge] says what the replies mean.
func (p *Plan) steps(c course) (list []step) {
	add := func(commands ...Command) {
		for _, command := range commands {
			list = append(list, step{Command: command})
		}
	}
	switch {
	case c.fresh:
		list = p.loginSteps(c)
	case c.ahead != "":
		list = []step{{Command: Command{Verb: c.ahead}, ahead: true}}
	}
	if c.batch != nil {
		return append(list, c.questions()...)
	}
	list = append(list, c.way(p.dirs())...)
	if dirs := p.dirs(); c.entries && c.home != "" && len(dirs) > farDown && c.known(dirs) < len(dirs)-1 {
		add(Command{Verb: "PWD"}) // the directories beside this one are then one CWD away
	}
	if t := p.find("TYPE"); t.Arg != c.typ {
		add(t)
	}
	toSend := func(st step) bool { return !st.ahead }
	early := c.factsOnly || slices.ContainsFunc(list, toSend) // SIZE and MDTM travel with whatever is sent before the set-up
	if early {
		add(p.facts()...)
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
		add(p.facts()...)
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

// Bounds of a batch, so that it fits into the buffers of every server. A client that fills them, and does not read replies
// meanwhile, waits for ever.
const (
	maxBatch       = 64      // commands
	maxBatchOctets = 4 << 10 // with their line ends
)

// questions returns the steps that ask about the first files of a batch: as many as travel together and can be reached.
func (c course) questions() (list []step) {
	octets := 0
	for i, q := range c.batch {
		if !c.reaches(q.dirs()) {
			break
		}
		next := c.way(q.dirs())
		if len(q.asks) > 0 && q.asks[0].Verb == "SIZE" && c.typ != "I" {
			next = append(next, step{Command: withArg("TYPE", "I")})
			c.typ = "I"
		}
		for _, fact := range q.asks {
			next = append(next, step{Command: fact, probe: fact.Verb == "CWD"})
		}
		for j := range next {
			next[j].file = i
			octets += len(next[j].Line()) + 2
		}
		if i > 0 && (len(list)+len(next) > maxBatch || octets > maxBatchOctets) {
			break
		}
		list = append(list, next...)
		c.dirs, c.lost = q.dirs(), false
	}
	return list
}

// place is a working directory, as far as it is known. The zero place is the directory after the login.
type place struct {
	home string   // the directory after the login, by PWD; "" if unknown
	dirs []string // CWDs done since the login
	lost bool     // the server is not in dirs
	sure []string // CWDs that once led to home, "/" and these names with "/" between them, by PWD
}

// farDown is how many CWDs a directory of a tree may be away from home before PWD is asked for its name.
const farDown = 8

// known returns how many of the CWDs that lead to a directory are in sure.
func (at place) known(dirs []string) (n int) {
	for n < min(len(dirs), len(at.sure)) && dirs[n] == at.sure[n] {
		n++
	}
	return n
}

// below returns the name of a directory that dirs lead to from home, if a PWD has confirmed such names.
func (at place) below(dirs []string) string {
	if len(dirs) == 0 {
		return at.home
	}
	return strings.TrimSuffix(at.home, "/") + "/" + strings.Join(dirs, "/")
}

// onTheWay reports whether the CWDs that lead to a directory begin with those that were sent.
func (at place) onTheWay(dirs []string) bool {
	return !at.lost && len(at.dirs) <= len(dirs) && slices.Equal(at.dirs, dirs[:len(at.dirs)])
}

// reaches reports whether way knows a way to the directory.
func (at place) reaches(dirs []string) bool { return at.onTheWay(dirs) || at.home != "" }

// way returns the steps from at to the directory that dirs lead to from home (RFC 1738 section 3.2.5).
func (at place) way(dirs []string) (list []step) {
	if at.onTheWay(dirs) {
		dirs = dirs[len(at.dirs):]
	} else {
		n := at.known(dirs)
		list, dirs = append(list, step{Command: withArg("CWD", at.below(dirs[:n])), to: dirs[:n], back: true}), dirs[n:]
	}
	for _, dir := range dirs {
		list = append(list, step{Command: withArg("CWD", dir)})
	}
	return list
}

// loginSteps returns the commands of RFC 4217 and RFC 1738 section 3.2.1, and those that are sent once per login.
func (p *Plan) loginSteps(c course) (list []step) {
	if p.Scheme == urlparse.FTPES || c.auth {
		list = append(list, step{Command: withArg("AUTH", "TLS")})
	}
	if p.Scheme != urlparse.FTP || c.auth {
		list = append(list, step{Command: withArg("PBSZ", "0"), waits: forTLS}, step{Command: withArg("PROT", "P")})
	}
	password := step{Command: p.find("PASS")}
	if password.Secret {
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

// ascii reports whether all names are ASCII.
func (p *Plan) ascii() bool { return !slices.ContainsFunc(p.Commands, beyondASCII) }

// needsUTF8 reports whether a name is UTF-8 beyond ASCII (RFC 2640). Then FEAT tells whether the server wants OPTS UTF8 ON.
func (p *Plan) needsUTF8() bool {
	return slices.ContainsFunc(p.Commands, func(c Command) bool { return utf8.ValidString(c.Arg) && beyondASCII(c) })
}

func beyondASCII(c Command) bool {
	return strings.ContainsFunc(c.Arg, func(r rune) bool { return r >= utf8.RuneSelf })
}
