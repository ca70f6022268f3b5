package ftpexec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// Command is an FTP command.
type Command struct {
	Verb string // the command code in upper case, such as "RETR"
	Arg  string // the argument, byte for byte as sent; "" for PASS

	secret bool // it sends the URL's password, or what Credentials supplies
	// what is shown in place of Arg, because it is or may hold a password; "" if Arg is shown
	shows string
}

// Plan returns the commands that u means, in their order (RFC 1738 section 3.2.2), without a password. The first stands
// for the connection: CONNECT host:port, followed by " TLS" for ftps. The last is RETR or NLST. Plan uses no network.
// The error comes from [urlparse.URL.Check].
//
// A Client also sends SIZE and MDTM (RFC 3659), which describe a file, the commands that set up the data connection
// (EPSV and PASV, or EPRT and PORT), QUIT, and what a server or a request calls for: AUTH, PBSZ, PROT, ACCT, FEAT,
// OPTS, REST, MLST, PWD, and MLSD or LIST in place of NLST.
func Plan(u *urlparse.URL) ([]Command, error) {
	if u == nil {
		return nil, errNoURL
	}
	if err := u.Check(); err != nil {
		return nil, err
	}
	plan := []Command{withArg("CONNECT", u.Address())}
	if u.Scheme == "ftps" {
		plan[0].Arg += " TLS"
	}
	mask := masking(u, func(string) {})
	for _, st := range steps(u, course{fresh: true, bare: true}) {
		plan = append(plan, mask(st.Command))
	}
	return plan, nil
}

const stars = "********"

// masking returns a function that hides in a command what may be a password in the path of u. It also passes each of
// these to secret.
func masking(u *urlparse.URL, secret func(string)) func(Command) Command {
	inPath := func(s string) bool { return strings.Contains(s, "@") }
	if !inPath(u.Name) && !slices.ContainsFunc(u.Dirs, inPath) { // in time
		return func(c Command) Command { return c }
	}
	v, err := urlparse.Parse(u.Redacted())
	if err != nil || v.Name == u.Name && slices.Equal(v.Dirs, u.Dirs) {
		return func(c Command) Command { return c }
	}
	shown := append(v.Dirs, v.Name)
	shows := map[string]string{}
	for i, segment := range append(slices.Clone(u.Dirs), u.Name) {
		if segment != shown[i] {
			before, _, _ := strings.Cut(shown[i], "***")
			shows[segment] = shown[i]
			secret(segment[len(before):strings.LastIndexByte(segment, '@')])
		}
	}
	return func(c Command) Command {
		c.shows = cmp.Or(shows[c.Arg], c.shows)
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
// colon: it may be a password, if the colon of the URL was encoded by mistake.
func (c Command) String() string { return printable.Octets(c.display()) }

func (c Command) display() string {
	c.Arg = cmp.Or(c.shows, c.Arg)
	return c.line()
}

// shown returns the command for [Error.Op], without an argument that may be secret.
func (c Command) shown() string {
	if verbs[c.Verb].stage == StageLogin {
		return c.Verb
	}
	return c.display()
}

// step is a command at its place in a run.
type step struct {
	Command
	waits   string    // why it is not sent before all earlier replies have come; "" if it may be
	back    bool      // a CWD that returns to the directory after the login
	about   *question // one of several that the run asks; nil: the plan's file
	advance bool      // it was sent at the end of the last transfer
	probe   bool      // a CWD that asks whether a name is a directory
}

// The reasons why a step waits. Replies come in the order of the commands (RFC 959 section 5.4), so a command that does
// not depend on a reply is sent together with the one before it.
const (
	forTLS         = "what follows AUTH would be sent unencrypted or into the handshake"
	forTheQuestion = "a real password is sent only after the server asks for it (331)"
	forFeatures    = "OPTS is sent only to servers that offer it"
	forLogin       = "without the account the login is not complete"
	forFirewalls   = "firewalls look for the reply to EPSV only at the start of a packet"
	forRefusal     = "the second way to open the data connection is for servers " +
		"that refuse the first"
	forThePort = "a transfer needs the port, " +
		"and after a refused CWD it would bring a file from another directory"
	forTheOffset = "after a refused REST, RETR would bring the whole file"
)

// course is what the steps of a run depend on, beyond the plan.
type course struct {
	goal
	room  program // where to put the steps; it may be nil
	bare  bool    // only what the URL means, as in a [Plan]
	proof bool    // the file's size is needed before REST is sent; see [run.prove]
	fresh bool    // on a new connection
	auth  bool    // send AUTH although the plan does not require TLS
	once  bool    // for one URL only: send nothing that only another URL needs
	utf8  offer   // what is left to do to get names in UTF-8
	place         // the working directory
	// the EPSV or PASV that is sent already; if the server refuses it, it is sent again
	advance string
	typ     string // the type that is set already
	// EPSV and PASV, or EPRT and PORT; the second is for servers that refuse the first
	setUp   []string
	inClear bool // firewalls can read the set-up of the data connection
}

// final returns the command that retrieves what u names (RFC 1738 section 3.2.2).
func final(u *urlparse.URL) Command {
	if u.IsDir() {
		return withArg("NLST", u.Name)
	}
	return withArg("RETR", u.Name)
}

// typeOf returns the argument of TYPE. A listing needs "A": servers send it in ASCII type, and RFC 959 section 4.1.3
// leaves it to the user to set that type.
func typeOf(u *urlparse.URL) string {
	if u.IsDir() || u.Type == urlparse.TypeASCII {
		return "A"
	}
	return "I"
}

// facts returns SIZE and MDTM (RFC 3659 sections 4 and 3), which describe a file. SIZE is for image type only: in ASCII
// type it counts converted line ends, and many servers refuse it.
func facts(u *urlparse.URL) (list []Command) {
	var p program
	p.facts(u)
	for _, st := range p {
		list = append(list, st.Command)
	}
	return list
}

// ways are the commands that list a directory, the most informative first (RFC 3659 section 7, RFC 959 section 4.1.3).
// Without "-a", which is in no RFC, vsftpd and others leave out the names that begin with a dot. The next way is for
// servers that refuse the one before; see [unlisted].
var ways = []Command{{Verb: "MLSD"}, withArg("LIST", "-a"), {Verb: "LIST"}, {Verb: "NLST"}}

// program is a list of steps.
type program []step

// add appends a command. The step that it returns may be changed until the next one is added.
func (p *program) add(verb, arg string) *step {
	*p = append(*p, step{Command: withArg(verb, arg)})
	return &(*p)[len(*p)-1]
}

// steps returns the commands of a run: the ones of RFC 1738 section 3.2.2 and what is sent before and between them. It
// is the one list of what is sent and what may travel together; [verbs] says what the replies mean.
func steps(u *urlparse.URL, c course) program {
	list := slices.Grow(c.room[:0], 8)
	if c.fresh {
		list.login(u, c)
	} else {
		list.goOn(u, c)
	}
	if c.asks != nil {
		return append(list, c.questions()...)
	}
	dirs := u.Dirs
	if c.entries && u.Name != "" { // because servers interpret the argument of LIST differently
		dirs = append(slices.Clone(dirs), u.Name)
	}
	list = append(list, c.way(dirs)...)
	if typ := typeOf(u); typ != c.typ {
		list.add("TYPE", typ)
	}
	unsent := func(st step) bool { return !st.advance }
	early := c.proof || slices.ContainsFunc(list, unsent) // SIZE and MDTM are sent with it
	if early && !c.bare {
		list.facts(u)
	}
	list.setUp(c)
	ready := len(list)
	if !early && !c.bare {
		list.facts(u)
	}
	if c.offset > 0 {
		list.add("REST", fmt.Sprint(c.offset))
	}
	list.namesInUTF8(u, c)
	list = append(list, step{Command: cmp.Or(c.op, final(u))})
	if c.offset > 0 {
		list[len(list)-1].waits = forTheOffset
	}
	list[ready].waits = forThePort // the first step after the set-up of the data connection
	return list
}

// facts adds SIZE and MDTM.
func (p *program) facts(u *urlparse.URL) {
	if u.IsDir() {
		return
	}
	if typeOf(u) == "I" {
		p.add("SIZE", u.Name)
	}
	p.add("MDTM", u.Name)
}

// setUp adds the commands that set up the data connection.
func (p *program) setUp(c course) {
	for i, verb := range c.setUp {
		st := p.add(verb, "")
		if i > 0 {
			st.waits = forRefusal
		} else if c.inClear {
			st.waits = forFirewalls
		}
	}
}

// Bounds of a batch, so that it fits into the buffers of every server. A client that fills them, and does not read
// replies meanwhile, waits for ever.
const maxBatch = 64            // commands
const maxBatchOctets = 4 << 10 // with their line ends

// questions returns the steps that ask about the first files of a batch: as many as can be sent together and reached.
func (c course) questions() (list program) {
	octets := 0
	for i, q := range c.asks {
		if !c.reaches(q.url.Dirs) {
			break
		}
		next := c.way(q.url.Dirs)
		if q.typ != "" && q.typ != c.typ {
			next.add("TYPE", q.typ)
			c.typ = q.typ
		}
		for _, op := range q.asks {
			next.add(op.Verb, op.Arg).probe = op.Verb == "CWD"
		}
		mask := masking(q.url, func(string) {})
		for j := range next {
			next[j].about = q
			next[j].Command = mask(next[j].Command)
			octets += len(next[j].line()) + 2
		}
		if i > 0 && (len(list)+len(next) > maxBatch || octets > maxBatchOctets) {
			break
		}
		list = append(list, next...)
		c.dirs = q.url.Dirs
		c.lost = false
	}
	return list
}

// place is a working directory, as far as it is known. The zero place is the directory after the login.
type place struct {
	home string   // the directory after the login, by PWD; "" if unknown
	dirs []string // CWDs done since the login
	lost bool     // the server is not in dirs
}

// onTheWay reports whether the CWDs that lead to a directory begin with the ones that were sent.
func (at place) onTheWay(dirs []string) bool {
	return !at.lost && len(at.dirs) <= len(dirs) && slices.Equal(at.dirs, dirs[:len(at.dirs)])
}

// reaches reports whether way knows a way to the directory.
func (at place) reaches(dirs []string) bool { return at.onTheWay(dirs) || at.home != "" }

// way returns the steps from at to the directory that dirs lead to from home (RFC 1738 section 3.2.5).
func (at place) way(dirs []string) (list program) {
	if at.onTheWay(dirs) {
		dirs = dirs[len(at.dirs):]
	} else {
		list.add("CWD", at.home).back = true
	}
	for _, dir := range dirs {
		list.add("CWD", dir)
	}
	return list
}

// login adds the commands of RFC 4217 sections 4 and 9 and RFC 1738 section 3.2.1, and what is sent once per login.
// A plan shows ftps, which is TLS from the first byte, by " TLS" after CONNECT.
func (p *program) login(u *urlparse.URL, c course) {
	explicit := u.Scheme == "ftpes" || c.auth
	if explicit {
		p.add("AUTH", "TLS")
	}
	if explicit || u.Scheme == "ftps" && !c.bare {
		p.add("PBSZ", "0").waits = forTLS
		p.add("PROT", "P")
	}
	p.user(u)
	if c.bare {
		return
	}
	p.inUTF8(u, c)
	if !c.once { // the way back, for the next URL
		p.add("PWD", "")
	}
}

// goOn adds what is sent first on a connection that is kept.
func (p *program) goOn(u *urlparse.URL, c course) {
	if c.advance != "" {
		p.add(c.advance, "").advance = true
	}
	p.inUTF8(u, c)
}

// namesInUTF8 adds the OPTS UTF8 ON that goes with a listing. The port is waited for, so the reply to FEAT has come.
func (p *program) namesInUTF8(u *urlparse.URL, c course) {
	if c.listing && c.wantsUTF8(u) && !needsUTF8(u) {
		p.add("OPTS", "UTF8 ON")
	}
}

// inUTF8 adds FEAT, and OPTS UTF8 ON if a name that is sent needs it (RFC 2640); see namesInUTF8 too.
func (p *program) inUTF8(u *urlparse.URL, c course) {
	if !c.wantsUTF8(u) {
		return
	}
	if c.utf8 == unasked {
		p.add("FEAT", "")
	}
	if needsUTF8(u) {
		opts := p.add("OPTS", "UTF8 ON")
		if c.utf8 == unasked {
			opts.waits = forFeatures
		}
	}
}

// wantsUTF8 reports whether names are to be in UTF-8: one in u is, or those of the listing may be. Where a name in u is
// in another charset, the listing is too.
func (c course) wantsUTF8(u *urlparse.URL) bool {
	return c.utf8 != settled && (needsUTF8(u) || c.listing && isASCII(u))
}

// user adds USER and PASS. Without a user the login is anonymous (RFC 1738 section 3.2.1).
func (p *program) user(u *urlparse.URL) {
	if u.User == nil {
		p.add("USER", "anonymous")
		p.add("PASS", "").shows = "<anonymous>"
		return
	}
	user := p.add("USER", u.User.Username())
	// What follows a colon is a password, if the colon was encoded by mistake.
	if name, slip := printable.Slip(user.Arg); slip != "" {
		user.shows = name + ":" + stars
	}
	pass := p.add("PASS", "")
	pass.secret = true
	pass.shows = "<prompt>"
	pass.waits = forTheQuestion
	if _, ok := u.User.Password(); ok {
		pass.shows = stars
	}
}

// hasName reports whether is reports true for a name in u that a server is sent.
func hasName(u *urlparse.URL, is func(string) bool) bool {
	return is(u.Name) || is(u.User.Username()) || slices.ContainsFunc(u.Dirs, is)
}

// isASCII reports whether every name in u is ASCII.
func isASCII(u *urlparse.URL) bool { return !hasName(u, beyondASCII) }

// needsUTF8 reports whether a name is UTF-8 beyond ASCII (RFC 2640). Then FEAT shows whether the server wants OPTS UTF8
// ON.
func needsUTF8(u *urlparse.URL) bool {
	return hasName(u, func(name string) bool { return utf8.ValidString(name) && beyondASCII(name) })
}

func beyondASCII(name string) bool {
	return strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf })
}
