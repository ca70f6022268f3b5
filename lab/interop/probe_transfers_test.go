//go:build interop

package interop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"example.com/ftpfetch/ftpexec"
)

// resume retrieves a file from an offset.
func (p *probe) resume(offset int) string {
	c := p.session(p.plain)
	want := p.tree.Files["pub/big.bin"]
	got, a := c.transfer(fmt.Sprint("REST ", offset), "RETR pub/big.bin")
	switch {
	case !a.ok():
		return p.no(a)
	case offset <= len(want) && got == want[offset:]:
		return "yes"
	}
	return fmt.Sprintf("%d bytes", len(got))
}

// keepsOffset says whether the server remembers the offset of REST over EPSV.
func (p *probe) keepsOffset() string {
	c := p.session(p.plain)
	if a := c.ask("REST 1"); a.code/100 != 3 {
		return none
	}
	c.ask("EPSV")
	got, _ := c.transfer("RETR pub/big.bin")
	if got == p.tree.Files["pub/big.bin"][1:] {
		return "yes"
	}
	return "no"
}

// lineEnd says what the server sends between two letters of endsText in ASCII type.
func (p *probe) lineEnd(before, after string) string {
	if p.ends == nil {
		got, a := p.session(p.plain).transfer("TYPE A", "RETR "+endsFile)
		if p.ends = &got; !a.ok() {
			*p.ends = p.no(a)
		}
	}
	got := *p.ends
	if !strings.Contains(got, before) || !strings.Contains(got, after) {
		return got // why endsText did not arrive
	}
	_, got, _ = strings.Cut(got, before)
	got, _, _ = strings.Cut(got, after)
	return strings.TrimSpace(strings.NewReplacer("\r", "CR ", "\n", "LF ").Replace(got))
}

// digests returns the commands that return a digest of a file.
func (p *probe) digests() string {
	var known []string
	for _, verb := range []string{"HASH", "XCRC", "XMD5", "XSHA1", "XSHA256"} {
		if p.code(verb+" pub/text.txt") == "yes" {
			known = append(known, "`"+verb+"`")
		}
	}
	if p.code("CKSM MD5 0 -1 pub/text.txt") == "yes" {
		known = append(known, "`CKSM`")
	}
	if len(known) == 0 {
		return none
	}
	return strings.Join(known, " ")
}

// ahead sends the commands before a transfer in one write, and compares the replies with those to commands sent one by
// one.
func (p *probe) ahead() string {
	commands := []string{"USER " + p.plain.anonymous(), "PASS " + anonymousPassword, "CWD pub", "TYPE I", "SIZE text.txt", "MDTM text.txt", "PWD"}
	codes := func(together bool) (got []int) {
		c, _, err := p.plain.dial(p.context())
		if err != nil {
			p.Fatal(err)
		}
		defer c.Close()
		if together {
			if _, err := io.WriteString(c.raw, strings.Join(commands, "\r\n")+"\r\n"); err != nil {
				p.Fatal(err)
			}
		}
		for _, command := range commands {
			a := answer{}
			if together {
				a = c.read()
			} else {
				a = c.ask(command)
			}
			if got = append(got, a.code); a.code == 0 {
				break
			}
		}
		return got
	}
	want, got := codes(false), codes(true)
	switch sorted := slices.Sorted[int]; {
	case slices.Equal(got, want):
		return "all taken"
	case slices.Equal(sorted(slices.Values(got)), sorted(slices.Values(want))):
		return "replies out of order"
	case slices.Contains(got, 0):
		return "lost"
	}
	return "other replies"
}

// sent counts what a client has sent.
type sent struct {
	flights int // on one connection
	verbs   map[string]int
}

// retrieves gets files on one connection, and counts what the client sends for each.
func (p *probe) retrieves(path string, files int, more bool) (counts []sent, err error) {
	var mu sync.Mutex
	now := sent{verbs: map[string]int{}}
	c := &ftpexec.Client{MaxIdle: 1, Trace: &ftpexec.Trace{Command: func(e ftpexec.CommandInfo) {
		mu.Lock()
		defer mu.Unlock()
		now.verbs[e.Verb]++
		switch {
		case e.Joined:
		case e.Verb == "USER": // on another connection
			now.flights = 1
		default:
			now.flights++
		}
	}}}
	defer c.CloseIdleConnections()
	for i := range files {
		r, err := c.Do(p.context(), &ftpexec.Request{URL: parse(p, p.plain.URL(path)), More: func() bool { return more && i < files-1 }})
		if err == nil {
			_, err = readAll(r)
		}
		if err != nil {
			return nil, err
		}
		mu.Lock()
		counts = append(counts, sent{now.flights, maps.Clone(now.verbs)})
		mu.Unlock()
	}
	return counts, nil
}

// early says whether the server accepts EPSV, or PASV if it has no EPSV, before its final reply to a transfer.
func (p *probe) early() string {
	const files = 3
	counts, err := p.retrieves("/pub/text.txt", files, true)
	if err != nil {
		return "no"
	}
	switch n := counts[files-1].verbs; {
	case n["USER"] > 1:
		return "no"
	case n["EPSV"] == files, n["EPSV"] == 1 && n["PASV"] == files:
		return "yes"
	case n["MLST"] > 0 || n["EPSV"] < files:
		return "not sent"
	}
	return "refused"
}

// flights counts the flights for the first file of a connection, and for the next file in the same directory.
func (p *probe) flights() (first, next string) {
	counts, err := p.retrieves("/"+deepFile, 2, false)
	if err != nil {
		return "no", "no"
	}
	return fmt.Sprint(counts[0].flights), fmt.Sprint(counts[1].flights - counts[0].flights)
}

// refusal returns the reply to a command, or the final reply to a transfer.
func (p *probe) refusal(command string) string {
	c := p.session(p.plain)
	if !strings.HasPrefix(command, "RETR") {
		return p.quote(c.ask(command))
	}
	got, a := c.transfer(command)
	if got != "" {
		return "the file, " + p.quote(a)
	}
	return p.quote(a)
}

// changing matches the parts of a reply that differ between runs.
var changing = regexp.MustCompile(`\d+\.\d+ seconds|\d{4,}`)

// quote shows a reply in a table.
func (p *probe) quote(a answer) string {
	text := changing.ReplaceAllString(p.hostless(a.String()), "N")
	if len(text) > 160 {
		text = text[:160] + "..."
	}
	return "`" + strings.NewReplacer("|", "\\|", "`", "'").Replace(text) + "`"
}

// mostClients is the limit on connections. pyftpdlib does not know a limit of 1.
const mostClients = 2

// full returns a server that has as many connections as it takes.
func (p *probe) full() *Server {
	s := p.start(Options{MaxClients: mostClients})
	for range mostClients {
		err := s.procs.await(p.context(), func(ctx context.Context) error { // the harness's own connection may not be gone yet
			c, err := s.enter(ctx)
			if err == nil {
				p.Cleanup(func() { c.Close() })
			}
			return err
		})
		if err != nil {
			p.Fatal(err)
		}
	}
	return s
}

func (p *probe) limit() string {
	if !p.flavour.caps {
		return none
	}
	c, a, err := p.full().dial(p.context())
	if err != nil {
		return "no connection"
	}
	defer c.Close()
	at := "greeting"
	for _, command := range []string{"USER anonymous", "PASS ftpfetch@example.com"} {
		if a.code/100 == 2 || a.code/100 == 3 {
			at, a = "`"+command[:4]+"`", c.ask(command)
		}
	}
	return at + ": " + p.quote(a)
}

// limitUnderstood says whether ftpfetch sees that the server is full.
func (p *probe) limitUnderstood() string {
	if !p.flavour.caps {
		return none
	}
	_, _, err := fetch(p.context(), p.client(), p.full().URL("/pub/text.txt"))
	switch {
	case errors.Is(err, ftpexec.ErrTooMany):
		return "too many connections"
	case err != nil:
		return "another failure"
	}
	return "nothing"
}

// idleSeconds is how long a client may be silent.
const idleSeconds = 3

func (p *probe) idle() string {
	if p.flavour.noIdle {
		return none
	}
	return p.quote(p.session(p.start(Options{Idle: idleSeconds})).read())
}
