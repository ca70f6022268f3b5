package ftpexec

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/internal/testkit/table"
	"example.com/ftpfetch/urlparse"
)

// sections has the names of the sections of testdata/replies.txt, which has the replies of servers.
var sections = map[meaning]string{full: "too many", needsTLS: "TLS required", empty: "empty", unopened: "unopened", partial: "partial",
	aborted: "aborted", done: "done", absent: "absent", directory: "directory", denied: "denied"}

// said returns the reply to op, a command about url.
func said(op Command, url, text string) answer {
	u, err := urlparse.Parse(url)
	if err != nil {
		panic(err)
	}
	return answerTo(op, reply(strings.ReplaceAll(text, "\r\n", "\n")), u, place{})
}

// meanings returns what a reply means.
func meanings(r answer) (all []meaning) {
	for m := range sections {
		if r.means(m) {
			all = append(all, m)
		}
	}
	return all
}

// Every reply has only its own meaning, and every wording is in a reply.
func TestWordings(t *testing.T) {
	used := map[string]bool{}
	for m, section := range sections {
		for _, row := range table.Rows(t, "replies.txt", section) {
			if got := meanings(said(Command{Verb: "LIST"}, "ftp://h/d/", row[0])); !slices.Equal(got, []meaning{m}) {
				t.Errorf("%q means %v, want %v", row[0], got, m)
			}
			it := said(Command{}, "ftp://h/", row[0])
			for _, pattern := range wordings()[m] {
				used[pattern().String()] = used[pattern().String()] || pattern().MatchString(it())
			}
		}
	}
	for m, patterns := range wordings() {
		if _, known := sections[m]; !known && m != "" && m != "#" {
			t.Errorf("nothing means %s", m)
		}
		for _, pattern := range patterns {
			if m != "" && m != "#" && !used[pattern().String()] {
				t.Errorf("no reply for a wording that means %s: %s", m, pattern())
			}
		}
	}
}

// Servers use similar words for other things.
func TestNoSuchWording(t *testing.T) {
	for _, row := range table.Rows(t, "replies.txt", "none") {
		text := row[0]
		if got := meanings(said(Command{Verb: "LIST"}, "ftp://h/d/", text)); got != nil {
			t.Errorf("%q means %v", text, got)
		}
	}
}

// A name in a reply changes nothing: each wording as a name, wherever servers put one, in every refusal of every
// command.
func TestNamesAreNoWordings(t *testing.T) {
	const plain = "zzqx" // a name that means nothing
	names := []string{"empty", "no files", "no such file", "a (5 bytes)", "SSL/TLS required", "too many connections", "denied", "Ünïcode: too many users", `a"b`}
	for _, section := range slices.Sorted(maps.Values(sections)) {
		for _, row := range table.Rows(t, "replies.txt", section) {
			names = append(names, strings.ToValidUTF8(strings.NewReplacer("\r", "", "\n", " ").Replace(row[0][4:]), "?"))
		}
	}
	places := []string{
		"%s %s: {}", "%s %s", "%s {}: %s", "%s {} (%s)", "%s '%s' {}", "%s \"%s\": {}", "%s {} '%s'", "%s Can't open %s: {}", "%s /home/u/%s: {}", "%s /srv/x y/%s/z: {}",
		"%s /srv/%s {}", "%s stat C:\\x\\%s: {}", "%s ['x', '%s']: {}", "%[1]s-%[2]s\r\n%[1]s {}", "%[1]s-{}\r\n%[1]s %[2]s", "%[1]s-{}\r\n%[1]s-%[2]s\r\n%[1]s End",
	}
	n := 0
	for _, verb := range []string{"CWD", "RETR", "NLST", "LIST", "MLSD", "SIZE", "MDTM", "EPSV"} {
		for _, name := range names {
			escaped := url.PathEscape(name)
			for _, at := range []struct {
				op  Command
				url string
			}{{withArg(verb, name), "ftp://h/d/%s"}, {Command{Verb: verb}, "ftp://h/d/%s/"}, {Command{Verb: verb}, "ftp://h/%s/d/"}, {withArg(verb, "f"), "ftp://h/%s/f"}} {
				for _, place := range places {
					if n++; n%night.Or(81, 1) != 0 {
						continue
					}
					text := []string{"Busy", "Input/output error", "Permission denied"}[n%3]
					code := []string{"421", "450", "500", "530", "550", "226", "534"}[n%7]
					judged := func(name, escaped string) (string, string) {
						op := at.op
						if op.Arg != "" && op.Arg != "f" {
							op.Arg = name
						}
						answer := fmt.Sprintf(strings.ReplaceAll(place, "{}", text), code, name)
						r := said(op, fmt.Sprintf(at.url, escaped), answer)
						e := &Error{Stage: verbs[verb].stage}
						e.take(reply(answer), r)
						e.refuse(op)
						e.readLimits(op, false)
						info := announcedIn(r)
						return fmt.Sprint(meanings(r), e.Err, e.Hint, errors.Is(e, fs.ErrPermission), errors.Is(e, fs.ErrNotExist), unlisted(op, e), info), answer
					}
					got, answer := judged(name, escaped)
					if want, _ := judged(plain, plain); got != want && name != text { // the very words of the reply
						t.Errorf("%s of %s: %q is %s, want %s", at.op.line(), at.url, answer, got, want)
					}
				}
			}
		}
	}
	t.Logf("%d replies", n)
}

func TestWordsOf(t *testing.T) {
	for _, tt := range []struct{ text, name, want string }{
		{"f: Too many users", "", "f: too many users"},
		{"Too Many Users: no such file", "too many users", "*: no such file"},
		{"Permission denied", "e", "permission denied"},
		{"e: Permission denied e", "e", "*: permission denied *"},
		{"a/f and f", "f", "* and *"},
		{"f f f", "f", "*"},
		{"can't open 'it's': I can't", "", "can't open *: i can't"},
		{"/a b/no c: Permission denied", "", "* permission denied"},
		{"SSL/TLS required", "", "tls required"},
		{"SSL/TLS required: no", "SSL/TLS required", "*: no"},
	} {
		if got := wordsOf(reply("550 "+tt.text), []string{tt.name}); got != tt.want {
			t.Errorf("%q without %q: got %q, want %q", tt.text, tt.name, got, tt.want)
		}
	}
}

// The texts of replies that hold a value, and texts that do not.
func TestReadingReplies(t *testing.T) {
	size := func(r wire.Reply) any {
		if n, ok := sizeIn(r); ok {
			return n
		}
		return nil
	}
	when := func(r wire.Reply) any {
		if t, ok := timeIn(r); ok {
			return t.Format(time.RFC3339)
		}
		return nil
	}
	port := func(read func(string) int) func(wire.Reply) any {
		return func(r wire.Reply) any {
			if n := read(r.Raw); n != 0 {
				return n
			}
			return nil
		}
	}
	epsv, pasv := port(extendedPort), port(func(text string) int { _, n := passiveAddress(text); return n })
	pwd := func(r wire.Reply) any { return directoryIn(r) }
	digest := func(r wire.Reply) any { return hex.EncodeToString(digestIn(&r, 2, "abab f")) }
	for _, tt := range []struct {
		read func(wire.Reply) any
		in   string
		want any
	}{
		{size, "213 12", int64(12)}, {size, "213  12 ", int64(12)}, {size, "250 12", nil}, {size, "213-x\n12", int64(12)},
		{size, "213 x", nil}, {size, "213 -1", nil}, {size, "213 +1", nil}, {size, "213 99999999999999999999", nil}, {size, "550 1", nil}, {size, "350 1", nil},
		{when, "213 20260102030405", "2026-01-02T03:04:05Z"}, {when, "213 20260102030405.678", "2026-01-02T03:04:05Z"},
		{when, "213 1", nil}, {when, "213 20261302030405", nil}, {when, "550 20260102030405", nil},
		{pwd, `257 "/a" is it`, "/a"}, {pwd, `257 "/a ""b"""`, `/a "b"`}, {pwd, `257 "x`, ""}, {pwd, "257 x", ""}, {pwd, `500 "/a"`, ""},
		{digest, "251 abab cdcd", "cdcd"}, {digest, "251 f cdcd cdcd", "cdcd"}, {digest, "251 abab", ""}, {digest, "251 1234 5678", ""}, {digest, "550 cdcd", ""},
		{epsv, "229 Entering (|||2121|)", 2121}, {epsv, "229 (|||99999|)", nil}, {epsv, "229 (!!!21!)", 21}, {epsv, "229 (|1|10.0.0.1|21|)", 21},
		{epsv, "229 (", nil}, {epsv, "229 (x)", nil}, {epsv, "229 (|||0|)", nil},
		{pasv, "227 Entering Passive Mode (10,0,0,1,1,2).", 258}, {pasv, "227 Entering 127,0,0,1,200,7", 51207}, {pasv, "200 =1,2,3,4,5,6", 1286},
		{pasv, "227 on 3 ports: 1, 2, 3, 4, 5, 6", 1286}, {pasv, "227 (,,,,,)", nil}, {pasv, "227 x", nil}, {pasv, "227 (1,2,3,4,5)", nil},
		{pasv, "227 (1,2,3,4,256,1)", nil}, {pasv, "227 (1,2,3,4,0,0)", nil},
		{pasv, "227 Entering Passive Mode (::1,1,2).", 258}, {pasv, "227 (2001:db8::7,200,7)", 51207}, {pasv, "227 at 12:30,1,2", nil},
		{pasv, "227 300,1,2,3,4,5,6", 1286}, {pasv, "227 (1,2,3,4,5,6999)", nil}, {pasv, "227 1,2,3,4,5,6", 1286}, {pasv, "227 (001,002,003,004,005,006)", 1286},
	} {
		if got := tt.read(reply(tt.in)); got != tt.want {
			t.Errorf("%q: got %v, want %v", tt.in, got, tt.want)
		}
	}
}

// reply returns a reply with the lines of text.
func reply(text string) wire.Reply {
	code, _ := strconv.Atoi(text[:3])
	return wire.Reply{Code: code, Text: text[4:], Raw: text[4:]}
}

// What the tests tell apart among refusals.
var (
	ErrTLSUnavailable = errNoTLS
	ErrDirectory      = errDirectory
	ErrType           = errType
	ErrPassive        = errPassive
	ErrActive         = errActive
	ErrOtherServer    = errOtherServer
	ErrNoHost         = wire.ErrResolve
)

// SetMaxListing bounds the listings of c.
func (c *Client) SetMaxListing(n int64) *Client {
	c.maxListing = n
	return c
}

// What the tests know about the defaults.
const (
	DefaultMaxIdle = defaultMaxIdle
	IdleTimeout    = idleTimeout
	IdleAdmitted   = idleAdmitted
	AdmittedTime   = admittedTime
	Email          = email
)

// A directory or a user whose name is a common word of the wordings hides none of them. Only a word that means something
// by itself, or that servers put into quotes, is taken for the name.
func TestCommonWordsAsNames(t *testing.T) {
	n := 0
	for _, m := range slices.Sorted(maps.Keys(sections)) {
		for _, row := range table.Rows(t, "replies.txt", sections[m]) {
			for _, word := range wordIn.FindAllString(strings.ToLower(row[0]), -1) {
				if slices.Contains(telling, word) {
					continue
				}
				for _, it := range []answer{
					said(Command{Verb: "LIST"}, "ftp://h/"+word+"/", row[0]), said(Command{Verb: "CWD", Arg: word}, "ftp://h/x/"+word+"/", row[0]),
					said(Command{Verb: "RETR", Arg: "f"}, "ftp://h/x/"+word+"/f", row[0]), said(Command{Verb: "USER", Arg: word}, "ftp://h/f", row[0]),
				} {
					if n++; !it.means(m) {
						t.Errorf("%q with %q as a name means %v, want %s", row[0], word, meanings(it), m)
					}
				}
			}
		}
	}
	t.Logf("%d replies", n)
}

var wordIn = regexp.MustCompile(`[a-z]+`)
