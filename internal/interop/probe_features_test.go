//go:build interop

package interop

import (
	"crypto/tls"
	"net"
	"os"
	"strconv"
	"strings"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/rules/must"
)

// feature is a row of a table in docs/servers.md.
type feature struct {
	name    string
	measure func(*probe) string
	copes   string // what ftpfetch does about it; "" if there is nothing to say
}

// table is a table in docs/servers.md.
type table struct {
	title, text string
	replies     bool // the values are long: a row for each server
	features    []feature
}

// none stands for what a server does not have.
const none = "-"

const (
	namesText = `Every byte is the whole name of a file, but for NUL, LF and CR, which no command
can contain, "/" and ".". The numbers are hexadecimal.`
	flightsText = `A flight is what ftpfetch sends in one write ([pipelining.md](pipelining.md)). The connection and its greeting come before,
the data after.`
)

var tables = []table{
	{title: "Connections and logins", features: []feature{
		{"`EPSV`", func(p *probe) string { return p.code("EPSV") }, "sends `PASV` after a refusal"},
		{"`PASV`", func(p *probe) string { return p.code("PASV") }, ""},
		{"`EPRT`", func(p *probe) string { return p.actively("EPRT |1|127.0.0.1|{port}|") }, "sends `PORT` after a refusal"},
		{"`PORT`", func(p *probe) string { return p.actively("PORT 127,0,0,1,{hi},{lo}") }, ""},
		{"IPv6", (*probe).ipv6, "has no `PASV` to fall back on"},
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
	}},
	{title: "Names", text: namesText, features: []feature{
		{"files that cannot be retrieved", func(p *probe) string { return p.octets("octets/%s") }, ""},
		{"files that the listing misses", (*probe).unlistedOctets, "reports lines that it cannot read"},
		{"`OPTS UTF8 ON`", func(p *probe) string { return p.code("OPTS UTF8 ON") }, "sends it if `FEAT` offers it"},
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

// client returns a client that keeps no connection.
func (p *probe) client() *ftpexec.Client { return &ftpexec.Client{MaxIdle: -1} }

// actively says whether the server takes a port for data. Some connect at once.
func (p *probe) actively(command string) string {
	l := must.Get(net.Listen("tcp4", "127.0.0.1:0"))(p)
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	return p.code(strings.NewReplacer("{port}", strconv.Itoa(port), "{hi}", strconv.Itoa(port>>8), "{lo}", strconv.Itoa(port&0xff)).Replace(command))
}

func (p *probe) ipv6() string {
	return p.fetches(p.client(), p.start(Options{IPv6: true}).URL(""))
}

// explicit retrieves files under explicit TLS.
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
	p.fetches(c, "ftpes://"+p.secure.Addr) // a ticket may come late
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

// withoutSession retrieves a file by a data connection with a TLS session of its own.
func (p *probe) withoutSession() string {
	switch got := p.underTLS(&tls.Config{SessionTicketsDisabled: true}); got {
	case "yes":
		return "accepted"
	default:
		return strings.Replace(got, "no:", "refused:", 1)
	}
}

// hostless hides the name of the machine and the served directories in a text.
func (p *probe) hostless(text string) string {
	name, _ := os.Hostname()
	return strings.NewReplacer(p.tree.Public, "", p.tree.Home, "", " "+name+" ", " HOST ").Replace(text)
}
