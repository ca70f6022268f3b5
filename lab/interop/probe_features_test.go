//go:build interop

package interop

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
)

// code returns "yes" if the last command gets a positive reply, and otherwise the code of the reply.
func (p *probe) code(commands ...string) string {
	c := p.session(p.plain)
	var a answer
	for _, command := range commands {
		a = c.ask(command)
	}
	if a.ok() {
		return "yes"
	}
	return p.no(a)
}

func (p *probe) no(a answer) string {
	if a.code == 0 {
		return a.text
	}
	return fmt.Sprint("no: ", a.code)
}

// lists returns whether a listing has a line that ends in name.
func (p *probe) lists(command, name string) string {
	return p.hasName(p.session(p.plain), command, name)
}

// listsIn does what lists does, in the directory probe/listing.
func (p *probe) listsIn(command, name string) string {
	c := p.session(p.plain)
	c.ask("CWD probe/listing")
	return p.hasName(c, command, name)
}

func (p *probe) hasName(c *control, command, name string) string {
	got, a := c.transfer(command)
	switch ends := func(line string) bool {
		return line == name || strings.HasSuffix(line, " "+name) || strings.HasSuffix(line, "/"+name)
	}; {
	case !a.ok():
		return p.no(a)
	case slices.ContainsFunc(strings.FieldsFunc(got, func(r rune) bool { return r == '\r' || r == '\n' }), ends):
		return "yes"
	}
	return "no"
}

// nlstArgument says which names NLST returns for another directory.
func (p *probe) nlstArgument() string {
	got, a := p.session(p.plain).transfer("NLST probe/listing/dir")
	switch got = strings.TrimSpace(got); {
	case !a.ok():
		return p.no(a)
	case strings.Contains(got, "listing/dir/inside"):
		return "paths"
	case strings.Contains(got, "inside"):
		return "names"
	}
	return fmt.Sprintf("%q", got)
}

// empty says how the server sends an empty listing of a directory.
func (p *probe) empty(dir string) string {
	got, a := p.session(p.plain).transfer("NLST " + dir)
	if a.ok() && got != "" {
		return fmt.Sprintf("`%s`", strings.Join(strings.Fields(got), " "))
	}
	if a.code == 0 {
		return a.text
	}
	return fmt.Sprint(a.code)
}

// entry returns an entry of probe/listing as ftpfetch reads it.
func (p *probe) entry(name string) (ftpexec.Entry, string) {
	entries, lines, err := entriesOf(p.context(), p.client(), p.plain.URL("/probe/listing/"))
	if err != nil || len(lines) > 0 {
		return ftpexec.Entry{}, "not read"
	}
	e, ok := entries[name]
	if !ok {
		return e, "not listed"
	}
	return e, ""
}

func (p *probe) link() string {
	e, problem := p.entry("link")
	if problem != "" {
		return problem
	}
	kind, _, _ := strings.Cut(describe(e), " of ")
	return strings.TrimSuffix(kind, " to ") // proftpd does not tell the target
}

func (p *probe) precision() string {
	e, problem := p.entry("plain")
	switch {
	case problem != "":
		return problem
	case e.ModTime.IsZero():
		return none
	}
	return fmt.Sprintf("%s, %s", strings.TrimSuffix(strings.TrimSuffix(e.Precision.String(), "0s"), "0m"), map[bool]string{true: "local", false: "UTC"}[e.Local])
}

// octets returns the octets for which the file named by the pattern cannot be retrieved.
func (p *probe) octets(pattern string) string {
	if p.flavour.slowNames {
		return none
	}
	c := p.client()
	c.MaxIdle = 1
	defer c.CloseIdleConnections()
	var missing []string
	for _, name := range octets() {
		path := strings.ReplaceAll(Escape(fmt.Sprintf("probe/"+pattern, name)), "%2F", "/")
		got, err := p.retrieve(c, p.plain.URL("/"+path))
		if err != nil || got != name {
			missing = append(missing, name)
		}
	}
	return ranges(missing)
}

func (p *probe) retrieve(c *ftpexec.Client, url string) (string, error) {
	r, err := c.Do(p.context(), &ftpexec.Request{URL: parse(p, url)})
	if err != nil {
		return "", err
	}
	return readAll(r)
}

// unlistedOctets returns the octets whose file is missing from the listing.
func (p *probe) unlistedOctets() string {
	c := p.client()
	c.Timeout = hangTimeout
	entries, _, err := entriesOf(p.context(), c, p.plain.URL("/probe/octets/"))
	if err != nil {
		return "no listing"
	}
	return ranges(slices.DeleteFunc(octets(), func(name string) bool {
		e, ok := entries[name]
		return ok && e.Mode.IsRegular()
	}))
}

// ranges formats octets in hexadecimal, or "-" for none.
func ranges(names []string) string {
	var parts []string
	for i := 0; i < len(names); {
		first, last := names[i][0], names[i][0]
		for i++; i < len(names) && names[i][0] == last+1; i++ {
			last++
		}
		if part := fmt.Sprintf("%02X", first); first == last {
			parts = append(parts, part)
		} else {
			parts = append(parts, fmt.Sprintf("%s-%02X", part, last))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, " ")
}

// feature is a row of a table in docs/servers.md.
type feature struct {
	name    string
	measure func(*probe) string
	copes   string // what ftpfetch does about it; "" if nothing needs saying
}

// table is a table in docs/servers.md.
type table struct {
	title, text string
	replies     bool // the values are long, so each server gets a row
	features    []feature
}

// none stands for a feature that a server does not have.
const none = "-"

const namesText = `Every byte is the whole name of a file, but for NUL, LF and CR, which no command
can contain, "/" and ".". The numbers are hexadecimal.`
const flightsText = `A flight is what ftpfetch sends in one write ([pipelining.md](pipelining.md)). The connection and its greeting come before,
the data after.`

var tables = []table{
	{title: "Connections and logins", features: []feature{
		{"`EPSV`", func(p *probe) string { return p.code("EPSV") }, "sends `PASV` after a refusal"},
		{"`PASV`", func(p *probe) string { return p.code("PASV") }, ""},
		{"`EPRT`", func(p *probe) string { return p.actively("EPRT |1|127.0.0.1|{port}|") }, "sends `PORT` after a refusal"},
		{"`PORT`", func(p *probe) string { return p.actively("PORT 127,0,0,1,{hi},{lo}") }, ""},
		{"IPv6", (*probe).ipv6, "uses the port of `PASV` if there is no `EPSV`"},
	}},
	{title: "TLS", features: []feature{
		{"`AUTH TLS`, TLS 1.2", func(p *probe) string { return p.explicit(tls.VersionTLS12) }, ""},
		{"`AUTH TLS`, TLS 1.3", func(p *probe) string { return p.explicit(tls.VersionTLS13) }, ""},
		{"implicit TLS", (*probe).implicit, ""},
		{"data resume the session, TLS 1.2", func(p *probe) string { return p.resumes(tls.VersionTLS12) }, "offers it always"},
		{"data resume the session, TLS 1.3", func(p *probe) string { return p.resumes(tls.VersionTLS13) }, "offers it always"},
		{"data without the session", (*probe).withoutSession, ""},
	}},
	{title: "Listings", features: []feature{
		{"`MLSD`", func(p *probe) string { return p.lists("MLSD probe/listing", "plain") }, "sends `LIST -a`, then `LIST`"},
		{"`MLST`", func(p *probe) string { return p.code("MLST pub/text.txt") }, "asks only for a size that it does not know"},
		{"`LIST`", func(p *probe) string { return p.listsIn("LIST", "plain") }, ""},
		{"`LIST` shows hidden files", func(p *probe) string { return p.listsIn("LIST", ".hidden") }, "sends `LIST -a` first"},
		{"`LIST -a` shows them", func(p *probe) string { return p.listsIn("LIST -a", ".hidden") }, ""},
		{"`NLST`", func(p *probe) string { return p.listsIn("NLST", "plain") }, "lists by `MLSD` or `LIST`"},
		{"`NLST` of a directory gives", (*probe).nlstArgument, "takes the last part"},
		{"`NLST` of an empty directory", func(p *probe) string { return p.empty("probe/empty") }, "knows these replies"},
		{"`NLST` of a missing directory", func(p *probe) string { return p.empty("probe/absent") }, "asks with `CWD` whether it is there"},
		{"a link, as ftpfetch sees it", (*probe).link, ""},
		{"times, as ftpfetch sees them", (*probe).precision, "compares them no closer than that"},
	}},
	{title: "Retrieving", features: []feature{
		{"`SIZE`", func(p *probe) string { return p.code("SIZE pub/text.txt") }, "reads the `150`, or asks with `MLST`"},
		{"`SIZE` in ASCII type", func(p *probe) string { return p.code("TYPE A", "SIZE pub/text.txt") }, "does not need it"},
		{"`SIZE` of a directory", func(p *probe) string { return p.code("SIZE pub") }, ""},
		{"`MDTM`", func(p *probe) string { return p.code("MDTM pub/text.txt") }, "works without"},
		{"`REST` to the end", func(p *probe) string { return p.resume(bigSize) }, ""},
		{"`REST` beyond the end", func(p *probe) string { return p.resume(bigSize + 1) }, "compares the size first"},
		{"`REST` outlasts `EPSV`", (*probe).keepsOffset, "sends `REST` right before `RETR`"},
		{"LF in ASCII type", func(p *probe) string { return p.lineEnd("1", "2") }, "ends lines as the system does"},
		{"CR LF in ASCII type", func(p *probe) string { return p.lineEnd("2", "3") }, ""},
		{"digests", (*probe).digests, "uses the first that it knows"},
		{"data connection closed in the middle", (*probe).answersToLeave, "takes the reply before the next command, and keeps the connection"},
	}},
	{title: "Names", text: namesText, features: []feature{
		{"files that cannot be retrieved", func(p *probe) string { return p.octets("octets/%s") }, ""},
		{"files that the listing misses", (*probe).unlistedOctets, "reports lines that it cannot read"},
		{"`OPTS UTF8 ON`", func(p *probe) string { return p.code("OPTS UTF8 ON") }, "sends it before a listing, and for a name in UTF-8, if `FEAT` offers it"},
	}},
	{title: "Flights", text: flightsText, features: []feature{
		{"commands sent ahead", (*probe).ahead, "starts again, one at a time"},
		{"`EPSV` at the end of the data", (*probe).early, "sends it again later"},
		{"flights for a file three directories deep", func(p *probe) string { first, _ := p.flights(); return first }, ""},
		{"flights for the next file there", func(p *probe) string { _, next := p.flights(); return next }, ""},
	}},
	{title: "Refusals", replies: true, features: []feature{
		{"`RETR` of a missing file", func(p *probe) string { return p.refusal("RETR pub/absent.txt") }, ""},
		{"`RETR` without permission", func(p *probe) string { return p.refusal("RETR probe/denied.txt") }, ""},
	}},
	{title: "Limits", replies: true, features: []feature{
		{"one connection more than the limit", (*probe).limit, ""},
		{"what ftpfetch makes of it", (*probe).limitUnderstood, ""},
		{"a client that says nothing for too long", (*probe).idle, ""},
	}},
}

// client returns a client that keeps no idle connection.
func (p *probe) client() *ftpexec.Client { return &ftpexec.Client{MaxIdle: -1} }

// actively says whether the server accepts a port for data. Some servers connect at once.
func (p *probe) actively(command string) string {
	l := must.Get(net.Listen("tcp4", "127.0.0.1:0"))(p)
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	return p.code(strings.NewReplacer("{port}", strconv.Itoa(port), "{hi}", strconv.Itoa(port>>8), "{lo}", strconv.Itoa(port&0xff)).Replace(command))
}

func (p *probe) ipv6() string {
	if p.flavour.noIPv6 {
		return none
	}
	return p.fetches(p.client(), p.start(Options{IPv6: true}).URL(""))
}

// explicit retrieves files with explicit TLS.
func (p *probe) explicit(version uint16) string {
	return p.underTLS(&tls.Config{MaxVersion: version, MinVersion: version})
}

// underTLS retrieves two files from the server with explicit TLS.
func (p *probe) underTLS(config *tls.Config) string {
	if !p.flavour.tls {
		return none
	}
	if p.secure == nil {
		p.secure = p.start(Options{TLS: true})
	}
	c := &ftpexec.Client{MaxIdle: 1, TLSConfig: config}
	defer c.CloseIdleConnections()
	config.RootCAs = p.secure.RootCAs
	p.fetches(c, "ftpes://"+p.secure.Addr) // a session ticket may arrive late
	return p.fetches(c, "ftpes://"+p.secure.Addr)
}

func (p *probe) implicit() string {
	if !p.flavour.implicit {
		return none
	}
	s, c := p.start(Options{TLS: true, Implicit: true}), p.client()
	c.TLSConfig = &tls.Config{RootCAs: s.RootCAs}
	return p.fetches(c, "ftps://"+s.Addr)
}

// resumes says whether a data connection resumes the TLS session of the control connection.
func (p *probe) resumes(version uint16) string {
	resumed := false
	got := p.underTLS(&tls.Config{MaxVersion: version, MinVersion: version, VerifyConnection: func(state tls.ConnectionState) error {
		resumed = resumed || state.DidResume
		return nil
	}})
	if got == "yes" && !resumed {
		return "no"
	}
	return got
}

// withoutSession retrieves a file over a data connection with a new TLS session.
func (p *probe) withoutSession() string {
	switch got := p.underTLS(&tls.Config{SessionTicketsDisabled: true}); got {
	case "yes":
		return "accepted"
	default:
		return strings.Replace(got, "no:", "refused:", 1)
	}
}

// hostless replaces the name of the machine and the served directories in a text.
func (p *probe) hostless(text string) string {
	name, _ := os.Hostname()
	return strings.NewReplacer(p.tree.Public, "", p.tree.Home, "", " "+name+" ", " HOST ").Replace(text)
}
