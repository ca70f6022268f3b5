package ftpexec

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/urlparse"
)

// stateOf returns the state of a run of a URL after the login.
func stateOf(t testing.TB, rawURL string) state {
	u := must.Get(urlparse.Parse(rawURL))(t)
	s := state{file: question{url: u, info: unknownEntry(u), other: -1}, ipv4: true, canPASS: true}
	s.admitted = true
	s.authenticated = true
	return s
}

// replied returns a reply of one line.
func replied(code int, text string) wire.Reply { return wire.Reply{Code: code, Text: text, Raw: text} }

// meaning returns what a decision says beyond the state.
func (d decision) meaning() string {
	var all []string
	say := func(so bool, what string) {
		if so {
			all = append(all, what)
		}
	}
	deeds := []string{"", "TLS", "clear data", "ACCT", "data", "no transfer", "no data"}
	say(d.err != nil, fmt.Sprint("error ", d.err))
	say(d.abandon != nil, "abandon")
	say(d.lost != nil, fmt.Sprint("lost ", d.lost))
	say(d.note != "", "note")
	say(d.deed != nothing, deeds[d.deed])
	if d.learn != nil {
		h := habits{}
		d.learn(&h)
		all = append(all, fmt.Sprintf("learn %+v", difference(h, habits{})))
	}
	return cmp.Or(strings.Join(all, "; "), "go on")
}

// difference returns the fields in which a differs from b.
func difference[T any](a, b T) string {
	var all []string
	v, w := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range v.NumField() {
		if x := fmt.Sprint(v.Field(i)); x != fmt.Sprint(w.Field(i)) {
			all = append(all, v.Type().Field(i).Name+" "+x)
		}
	}
	return strings.Join(all, ", ")
}

const judgedFile = "ftp://h/a/b/f"

// inner is the hint for a directory on the way that cannot be entered.
const inner = ". If only the inner directory is accessible, write /a%2Fb/f to enter it in one step"

var asked = new(question)

// judgements says what replies mean.
var judgements = []struct {
	name  string
	state func(*state)
	step  step
	reply wire.Reply
	want  string // see decision.meaning; then what changes where the session stands
}{
	{"TLS", nil, step{Command: withArg("AUTH", "TLS")}, replied(234, "go"), "TLS;"},
	{"no TLS", nil, step{Command: withArg("AUTH", "TLS")}, replied(502, "what?"),
		"error " + judgedFile + ": the server does not offer TLS (502 what?); abandon;"},
	{"no TLS, which was only tried", func(s *state) { s.triesTLS = true }, step{Command: withArg("AUTH", "TLS")},
		replied(431, "no"), "note;"},
	{"no TLS for data, which was only tried", func(s *state) { s.triesTLS = true },
		step{Command: withArg("PROT", "P")}, replied(536, "no"), "note; clear data;"},
	{"no password needed", func(s *state) { s.standing = standing{spent: true} },
		step{Command: withArg("USER", "u")}, replied(230, "in"), "go on; admitted true, spent false"},
	{"password", func(s *state) { s.standing = standing{spent: true} }, step{Command: Command{Verb: "PASS"}},
		replied(230, "in"), "go on; admitted true, authenticated true, spent false"},
	{"account", func(s *state) { s.standing = standing{} }, step{Command: Command{Verb: "PASS"}},
		replied(332, "account?"), "ACCT; admitted true"},
	{"a password after all", func(s *state) { s.authenticated = false }, step{Command: withArg("TYPE", "I")},
		replied(530, "log in"), "error the server wants PASS although it admitted the user without; abandon;"},
	{"UTF-8", nil, step{Command: Command{Verb: "FEAT"}}, replied(211, "x\n UTF8\nend"), "learn utf8 1;"},
	{"home", nil, step{Command: Command{Verb: "PWD"}}, replied(257, `"/x"`), "go on; place {/x [] false}"},
	{"in", nil, step{Command: withArg("CWD", "a")}, replied(250, "in"), "go on; place { [a] false}"},
	{"not in", nil, step{Command: withArg("CWD", "b")}, replied(550, "denied"), "error " + judgedFile +
		": cannot enter b (550 denied)" + inner + "; place { [] true}"},
	{"not in, of several", nil, step{Command: withArg("CWD", "b"), about: asked}, replied(550, "gone"),
		"lost " + judgedFile + ": cannot enter b (550 gone)" + inner + "; place { [] true}"},
	{"not back", nil, step{Command: withArg("CWD", "/"), back: true}, replied(550, "gone"), "error " + judgedFile +
		": cannot enter / (550 gone); abandon; place { [] true}"},
	{"port", nil, step{Command: Command{Verb: "EPSV"}}, replied(229, "(|||7|)"), "go on; port 7"},
	{"no EPSV", nil, step{Command: Command{Verb: "EPSV"}}, replied(500, "what?"), "go on; noEPSV true"},
	{"PASV", nil, step{Command: Command{Verb: "PASV"}}, replied(227, "(1,2,3,4,1,0)"),
		"go on; port 256, named 1.2.3.4"},
	{"no PASV", nil, step{Command: Command{Verb: "PASV"}}, replied(500, "what?"),
		"error " + judgedFile + ": no usable answer to EPSV or PASV (500 what?);"},
	{"no EPRT over IPv6", func(s *state) { s.ipv4 = false }, step{Command: Command{Verb: "EPRT"}},
		replied(500, "what?"), "error " + judgedFile + ": active mode refused (500 what?);"},
	{"the port of a refused transfer", func(s *state) { s.stalePort = 7 }, step{Command: Command{Verb: "EPSV"}},
		replied(229, "(|||7|)"), "error the reply makes no sense: the port of a refused transfer again; " +
			"abandon; note; learn stalePort 7; port 7"},
	{"the only port", func(s *state) { s.habits.stalePort = 7 }, step{Command: Command{Verb: "EPSV"}},
		replied(229, "(|||7|)"), "learn onePort true; port 7"},
	{"asked for too early", func(s *state) { s.advance = "EPSV" },
		step{Command: Command{Verb: "EPSV"}, advance: true}, replied(500, "busy"), "learn late true; advance"},
	{"data", func(s *state) { s.stalePort = 9 }, step{Command: withArg("RETR", "f")}, replied(150, "f (9 bytes)"),
		"data; stalePort 0"},
	{"no such file", func(s *state) { s.port = 7 }, step{Command: withArg("RETR", "f")}, replied(550, "no f"),
		"error " + judgedFile + ": not found (550 no f); no transfer; stalePort 7"},
	{"an offset may stay", func(s *state) { s.offset = 3 }, step{Command: withArg("RETR", "f")},
		replied(550, "no f"), "error " + judgedFile + ": not found (550 no f); no transfer; spent true"},
	{"no ticket", func(s *state) { s.secure, s.noTicket = true, true }, step{Command: withArg("RETR", "f")},
		replied(522, "resume"), "error " + judgedFile + ": " + errNoTicket.Error() + " (522 resume). " + sessionOptions +
			"; no transfer;"},
	{"an empty directory", nil, step{Command: Command{Verb: "NLST"}}, replied(550, "No files found"),
		"error no entries; no data;"},
	{"not its reply", nil, step{Command: withArg("TYPE", "I")}, replied(257, "x"),
		`error the reply makes no sense: replies in another order than the commands: "257 x"; abandon;`},
	{"one too early", nil, step{Command: withArg("TYPE", "I")}, replied(150, "x"),
		`error the reply makes no sense: replies in another order than the commands: "150 x"; abandon;`},
	{"neither success nor refusal", nil, step{Command: withArg("TYPE", "I")}, replied(399, "x"),
		"error " + judgedFile + ": TYPE I: type refused: the reply makes no sense (399 x); abandon;"},
	{"refused offset", nil, step{Command: withArg("REST", "3")}, replied(200, "x"),
		"error " + judgedFile + ": the server cannot begin in the middle of the file (200 x);"},
}

// TestJudge compares decisions with judgements.
func TestJudge(t *testing.T) {
	for _, tt := range judgements {
		t.Run(tt.name, func(t *testing.T) {
			s := stateOf(t, judgedFile)
			if tt.state != nil {
				tt.state(&s)
			}
			d := judge(s, tt.step, tt.reply)
			d.features = nil
			d.recent = s.recent
			got := strings.TrimSpace(d.meaning() + "; " + difference(d.standing, s.standing))
			if got != tt.want {
				t.Errorf("%s: %s\n got %s\nwant %s", tt.step.display(), tt.reply, got, tt.want)
			}
		})
	}
}

// TestJudgeLaws tries every command with every code.
func TestJudgeLaws(t *testing.T) {
	known := []string{"USER", "PASS", "CWD", "TYPE", "AUTH", "PROT", "EPSV", "PASV", "REST", "RETR", "NLST"}
	n := 0
	for verb, v := range verbs {
		for code := 100; code < 560; code++ {
			n++
			s := stateOf(t, "ftp://h/a/f")
			s.listens = 9
			s.admitted = verb != "PASS"
			s.dirs = append(make([]string, 0, 4), "a")
			before := s
			st := step{Command: withArg(verb, "f")}
			r := replied(code, "f (|||7|) (1,2,3,4,0,7)")
			d, again := judge(s, st, r), judge(s, st, r)
			switch {
			case !reflect.DeepEqual(s, before), s.dirs[:cap(s.dirs)][1] != "":
				t.Errorf("%s, %d: judging changes what it is given", verb, code)
			case d.meaning() != again.meaning() || difference(d.standing, again.standing) != "":
				t.Errorf("%s, %d: %s, and then %s", verb, code, d.meaning(), again.meaning())
			case d.abandon != nil && d.err == nil:
				t.Errorf("%s, %d: abandons the connection and goes on", verb, code)
			case code >= 400 && slices.Contains(known, verb) && d.err == nil && !d.noEPSV:
				t.Errorf("%s, %d: a refusal counts as a success", verb, code)
			case !belongs(verb, code) && !errors.Is(d.abandon, wire.ErrDisorder):
				t.Errorf("%s, %d: belongs to another command, and %s", verb, code, d.meaning())
			case code < 200 && d.err == nil && d.deed != takeData && v.judge != nil && !v.basic:
				t.Errorf("%s, %d: a preliminary reply, and %s", verb, code, d.meaning())
			case code/100 == 2 && code != 221 && belongs(verb, code) && d.err != nil && verb != "REST":
				t.Errorf("%s, %d: a success, and %s", verb, code, d.meaning())
			}
		}
	}
	t.Log(n, "cases")
}

func questions(paths ...string) (asks []*question) {
	for _, path := range paths {
		u, err := urlparse.Parse("ftp://h/" + path)
		if err != nil {
			panic(err)
		}
		one, err := inquire(u, []*urlparse.URL{u}, nil)
		if err != nil {
			panic(err)
		}
		asks = append(asks, one...)
	}
	return asks
}

// The commands of a run. " | " means that the next command waits.
func TestSteps(t *testing.T) {
	dirs := []string{"a", "b"}
	passive := []string{"EPSV", "PASV"}
	for _, tt := range []struct {
		name, url string
		course    course
		want      string
	}{
		{"anonymous", "ftp://h/a/b/f", course{fresh: true, once: true, setUp: passive, inClear: true},
			"USER anonymous, PASS <anonymous>, CWD a, CWD b, TYPE I, SIZE f, MDTM f | EPSV | PASV | RETR f"},
		{"password", "ftp://u:p@h/a/b/f", course{fresh: true, setUp: passive, inClear: true},
			"USER u | PASS ********, PWD, CWD a, CWD b, TYPE I, SIZE f, MDTM f | EPSV | PASV | RETR f"},
		{"explicit TLS", "ftpes://u:p@h/f", course{fresh: true, once: true, setUp: passive},
			"AUTH TLS | PBSZ 0, PROT P, USER u | PASS ********, TYPE I, SIZE f, MDTM f, EPSV | PASV | RETR f"},
		{"implicit TLS", "ftps://h/f", course{fresh: true, once: true, setUp: passive[:1]},
			"PBSZ 0, PROT P, USER anonymous, PASS <anonymous>, TYPE I, SIZE f, MDTM f, EPSV | RETR f"},
		{"TLS to be tried", "ftp://h/f", course{fresh: true, auth: true, once: true, setUp: passive[1:], inClear: true},
			"AUTH TLS | PBSZ 0, PROT P, USER anonymous, PASS <anonymous>, TYPE I, SIZE f, MDTM f | PASV | RETR f"},
		{"UTF-8", "ftp://h/%C3%BC", course{fresh: true, once: true, setUp: passive[:1], inClear: true},
			`USER anonymous, PASS <anonymous>, FEAT | OPTS UTF8 ON, TYPE I, SIZE \xc3\xbc, MDTM \xc3\xbc | EPSV | RETR \xc3\xbc`},
		{"the next file", "ftp://h/a/b/f", course{place: place{dirs: dirs}, typ: "I", setUp: passive[:1], inClear: true}, "EPSV | SIZE f, MDTM f, RETR f"},
		{"the next file, its port asked for", "ftp://h/a/b/f", course{advance: "EPSV", place: place{dirs: dirs}, typ: "I", setUp: passive, inClear: true},
			"EPSV | EPSV | PASV | SIZE f, MDTM f, RETR f"},
		{"another directory, the port asked for", "ftp://h/a/b/f", course{advance: "PASV", place: place{dirs: dirs[:1]}, typ: "I", setUp: passive[1:]},
			"PASV, CWD b, SIZE f, MDTM f, PASV | RETR f"},
		{"another directory", "ftp://h/a/b/f", course{place: place{home: "/", lost: true}, typ: "I", setUp: passive[:1], inClear: true},
			"CWD /, CWD a, CWD b, SIZE f, MDTM f | EPSV | RETR f"},
		{"the rest", "ftp://h/f", course{goal: goal{offset: 3}, typ: "I", setUp: passive[:1], inClear: true}, "EPSV | SIZE f, MDTM f, REST 3 | RETR f"},
		{"the rest on a new connection", "ftp://h/f", course{goal: goal{offset: 3}, fresh: true, once: true, setUp: passive[:1], inClear: true},
			"USER anonymous, PASS <anonymous>, TYPE I, SIZE f, MDTM f | EPSV | REST 3 | RETR f"},
		{"active mode", "ftp://h/f", course{typ: "I", setUp: []string{"EPRT", "PORT"}, inClear: true}, "EPRT | PORT | SIZE f, MDTM f, RETR f"},
		{"text", "ftp://h/f;type=a", course{typ: "I", setUp: passive[:1], inClear: true}, "TYPE A, MDTM f | EPSV | RETR f"},
		{"listing", "ftp://h/a/b/", course{setUp: passive[:1], inClear: true}, "CWD a, CWD b, TYPE A | EPSV | NLST"},
		{"listing in UTF-8", "ftp://h/a/", course{goal: goal{listing: true}, fresh: true, once: true, setUp: passive[:1], inClear: true},
			"USER anonymous, PASS <anonymous>, FEAT, CWD a, TYPE A | EPSV | OPTS UTF8 ON, NLST"},
		{"listing in UTF-8, which the server offers", "ftp://h/a/", course{goal: goal{listing: true}, utf8: offers, setUp: passive[:1], inClear: true},
			"CWD a, TYPE A | EPSV | OPTS UTF8 ON, NLST"},
		{"listing in UTF-8, as the directory's name", "ftp://h/%C3%BC/", course{goal: goal{listing: true}, utf8: offers, setUp: passive[:1], inClear: true},
			`OPTS UTF8 ON, CWD \xc3\xbc, TYPE A | EPSV | NLST`},
		{"listing in UTF-8 already", "ftp://h/a/", course{goal: goal{listing: true}, utf8: settled, setUp: passive[:1], inClear: true},
			"CWD a, TYPE A | EPSV | NLST"},
		{"listing of a directory in another charset", "ftp://h/%FC/", course{goal: goal{listing: true}, setUp: passive[:1], inClear: true},
			`CWD \xfc, TYPE A | EPSV | NLST`},
		{"facts about many", "ftp://h/a/f", course{goal: goal{asks: questions("a/f", "a/g", "a/b/f", "c/f;type=a", "c/g")}, place: place{home: "/x", lost: true}, typ: "A"},
			"CWD /x, CWD a, TYPE I, SIZE f, MDTM f, SIZE g, MDTM g, CWD b, SIZE f, MDTM f, CWD /x, CWD c, MDTM f, SIZE g, MDTM g"},
		{"facts about those on the way", "ftp://h/a/f", course{goal: goal{asks: questions("a/f", "c/f")}, fresh: true},
			"USER anonymous, PASS <anonymous>, PWD, CWD a, TYPE I, SIZE f, MDTM f"},
	} {
		u := must.Get(urlparse.Parse(tt.url))(t)
		var got strings.Builder
		for i, st := range steps(u, tt.course) {
			if _, ok := verbs[st.Verb]; !ok {
				t.Errorf("%s: %s has no row in verbs, so a refusal means nothing", tt.name, st.Verb)
			}
			switch {
			case i > 0 && st.waits != "":
				got.WriteString(" | ")
			case i > 0:
				got.WriteString(", ")
			}
			got.WriteString(st.String())
		}
		if got.String() != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, &got, tt.want)
		}
	}
}
