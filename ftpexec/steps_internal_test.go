package ftpexec

import (
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/urlparse"
)

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
