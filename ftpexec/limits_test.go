package ftpexec_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/internal/testkit/table"
	"example.com/ftpfetch/testserver"
)

// stages are where a server may reply that there are too many, or that it requires TLS. want is the other error that
// the result wraps.
var stages = []struct {
	name string
	step func(reply string) testserver.Step
	want error
}{
	{"greeting", func(r string) testserver.Step {
		return testserver.On("", testserver.Reply(r), testserver.EndControl(testserver.Closed))
	}, ftpexec.ErrConnect},
	{"USER", on("USER"), ftpexec.ErrLogin},
	{"PASS", on("PASS"), ftpexec.ErrLogin},
	{"CWD", on("CWD"), ftpexec.ErrDirectory},
	{"PASV", after500("EPSV", "PASV"), ftpexec.ErrPassive},
	{"RETR", on("RETR"), ftpexec.ErrRefused},
	{"NLST", on("NLST"), ftpexec.ErrRefused},
	{"after 150", func(r string) testserver.Step {
		return testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("", testserver.Closed), testserver.Reply(r))
	}, ftpexec.ErrRefused},
}

// repliesOf returns the replies of real servers with a meaning.
func repliesOf(t *testing.T, meaning string) (all []string) {
	for _, row := range table.Rows(t, "replies.txt", meaning) {
		all = append(all, row[0])
	}
	return all
}

// What a wording means at each stage. TestWordings has all wordings; here each stage gets one of them in turn.
func TestMeanings(t *testing.T) {
	for i, stage := range stages {
		for _, want := range []error{ftpexec.ErrTooMany, ftpexec.ErrTLSRequired} {
			replies := repliesOf(t, map[error]string{ftpexec.ErrTooMany: "too many", ftpexec.ErrTLSRequired: "TLS required"}[want])
			for k := range night.Or(2, len(replies)) {
				reply := replies[(i+k*5)%len(replies)]
				s := testserver.New(t, nil, testserver.Honest("contents"), stage.step(reply))
				_, err := do(t.Context(), within(ample), parse(t, s.URL("u:password@"+pathOf(stage.name == "NLST"))))
				var e *ftpexec.Error
				full := want == ftpexec.ErrTooMany
				switch {
				case strings.HasPrefix(reply, "425") && slices.Contains([]string{"USER", "PASS", "CWD"}, stage.name):
					if !errors.Is(err, ftpexec.ErrProtocol) { // only a command that needs data gets a 425
						t.Errorf("%s to %s: %v, want ErrProtocol", reply, stage.name, err)
					}
				case full && stage.name == "CWD" && !strings.HasPrefix(reply, "421"): // these words are about a directory
					if errors.Is(err, ftpexec.ErrTooMany) || !errors.Is(err, ftpexec.ErrDirectory) {
						t.Errorf("%s to CWD: %v, want ErrDirectory alone", reply, err)
					}
				case !errors.Is(err, want) || !errors.As(err, &e) || ftpexec.Retryable(e) != full || !full && !strings.Contains(e.Hint, "ftpes://"):
					t.Errorf("%s at %s: %v, want %v", reply, stage.name, err, want)
				case !isAny(err, errors.Join(stage.want, ftpexec.ErrNotFound, ftpexec.ErrTruncated)) && !(full && errors.Is(err, ftpexec.ErrLost)):
					t.Errorf("%s at %s: %v, want %v besides", reply, stage.name, err, stage.want)
				case !full && s.Connections() != 1:
					t.Errorf("%s at %s: %d connections, want 1", reply, stage.name, s.Connections())
				}
				s.Close()
			}
		}
	}
}

// Under TLS the words that ask for TLS mean nothing.
func TestTLSRequiredUnderTLS(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest(""), testserver.On("RETR", testserver.Reply("550 TLS required")))
	u := parse(t, s.URL("/f"))
	u.Scheme = "ftpes"
	_, err := read(t.Context(), &ftpexec.Client{MaxIdle: -1, TLSConfig: &tls.Config{RootCAs: s.RootCAs()}}, u)
	if !errors.Is(err, ftpexec.ErrRefused) || errors.Is(err, ftpexec.ErrTLSRequired) {
		t.Errorf("got %v, want another error", err)
	}
}

// No decision depends on a secret: a password may be the word that decides.
func TestDecisionsSeeTheReplyUnmasked(t *testing.T) {
	for _, tt := range []struct {
		password, reply string
		want            error
	}{
		{"denied", "550 Access denied", ftpexec.ErrRefused},
		{"users", "450 too many users", ftpexec.ErrTooMany},
		{"encrypted", "522 Data connections must be encrypted", ftpexec.ErrTLSRequired},
	} {
		s := testserver.New(t, nil, testserver.Honest(""), testserver.On("SIZE", testserver.Reply("550 no")), testserver.On("RETR", testserver.Reply(tt.reply)))
		_, err := read(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URL("u:"+tt.password+"@/f")))
		if !errors.Is(err, tt.want) || strings.Contains(err.Error(), tt.password+"(") || strings.HasSuffix(err.Error(), tt.password) {
			t.Errorf("%s: %v, want %v", tt.reply, err, tt.want)
		}
	}
}

// An inner directory may be accessible although the outer one is not. The hint names the URL for that.
func TestOneStepHint(t *testing.T) {
	for _, tt := range []struct {
		path, refused, reply string
		hint                 string // the path in the hint; "" means no hint
	}{
		{"/a/b/f", "^CWD a$", "550 Permission denied", "/a%2Fb/f"},
		{"/a/b/f", "^CWD a$", "550 Failed to change directory.", "/a%2Fb/f"},
		{"/a/b/c/f", "^CWD a$", "550 no", "/a%2Fb%2Fc/f"},
		{"/x/a/b/f", "^CWD a$", "553 no", "/x/a%2Fb/f"},
		{"/%2Fa/b/f", "^CWD /a$", "550 no", "/%2Fa%2Fb/f"},
		{"/a%20b/c/f;type=a", "^CWD a b$", "550 no", "/a%20b%2Fc/f;type=a"},
		{"/a/b/", "^CWD a$", "550 no", "/a%2Fb/"},
		{"/a/b;type=d", "^CWD a$", "550 no", ""},
		{"/a/b/f", "^CWD b$", "550 no", ""},
		{"/a/f", "^CWD a$", "550 no", ""},
		{"/a/b/f", "^CWD a$", "550 a: No such file or directory", ""},
		{"/a/b/f", "^CWD a$", "450 busy", ""},
		{"/a/b/f", "^CWD a$", "530 who are you", ""},
		{"/a//f", "^CWD a$", "550 no", ""},
		{"/a/%2Fb/f", "^CWD a$", "550 no", ""},
	} {
		for _, sequential := range []bool{false, true} {
			s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On(tt.refused, testserver.Reply(tt.reply)))
			c := &ftpexec.Client{MaxIdle: -1, NoPipelining: sequential}
			_, err := do(t.Context(), c, parse(t, s.URL(tt.path)))
			var e *ftpexec.Error
			if !errors.As(err, &e) || !errors.Is(err, ftpexec.ErrDirectory) {
				t.Errorf("%s: %v, want ErrDirectory", tt.path, err)
				continue
			}
			_, rest, _ := strings.Cut(e.Hint, "write ")
			path, _, _ := strings.Cut(rest, " ")
			if path != tt.hint {
				t.Errorf("%s, %s: hint %q, want %q", tt.path, tt.reply, e.Hint, tt.hint)
			}
			if path == "" {
				continue
			}
			if _, err := do(t.Context(), c, parse(t, s.URL(path))); err != nil {
				t.Errorf("%s: the hint %q fails: %v", tt.path, path, err)
			}
		}
	}
}

// On a kept connection the hint counts from the directories that were entered before.
func TestOneStepHintOnTheWay(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("^CWD a$", testserver.Reply("550 no")))
	session := closing(t, &ftpexec.Client{})
	for _, path := range []string{"/x/f", "/x/a/b/f", "/y/a/b/f"} {
		_, err := read(context.Background(), session, parse(t, s.URL(path)))
		want := strings.Replace(path, "a/b", "a%2Fb", 1)
		if path != "/x/f" && (err == nil || !strings.Contains(err.Error(), "write "+want+" ")) {
			t.Errorf("%s: %v, want the hint %s", path, err, want)
		}
	}
}

func TestOpenFrom(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/a/f": "0123456789"}})
	for _, sequential := range []bool{false, true} {
		session := closing(t, &ftpexec.Client{NoPipelining: sequential})
		for _, offset := range []int64{0, 3, 9, 10} {
			r := must.Get(session.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/a/f")), Offset: offset}))(t)
			if got, err := io.ReadAll(r.Body); err != nil || string(got) != "0123456789"[offset:] || r.Size != 10 {
				t.Errorf("from %d: got %q, %v, size %d", offset, got, err, r.Size)
			}
		}
		cmds := s.Commands()
		for i, line := range cmds {
			if strings.HasPrefix(line, "REST") && !strings.HasPrefix(cmds[i+1], "RETR") {
				t.Errorf("%q after %q: some servers forget REST then", cmds[i+1], line)
			}
		}
	}
}

// After a refused REST no RETR is sent, because it would bring the whole file. The session goes on.
func TestOpenFromRefused(t *testing.T) {
	for _, refusal := range []string{"502 what", "501 no", "200 fine", "554 too far"} {
		s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("REST", testserver.Reply(refusal)))
		session := closing(t, &ftpexec.Client{})
		_, err := session.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/a/f")), Offset: 3})
		if !errors.Is(err, ftpexec.ErrNoRestart) || slices.Contains(s.Commands(), "RETR f") {
			t.Errorf("%s: error %v, want ErrNoRestart; commands %q", refusal, err, s.Commands())
		}
		if got, err := read(t.Context(), session, parse(t, s.URL("/a/f"))); err != nil || got != "contents" || s.Connections() != 1 {
			t.Errorf("%s: from the beginning: got %q, %v on %d connections", refusal, got, err, s.Connections())
		}
	}
	_, err := (&ftpexec.Client{MaxIdle: -1}).Do(t.Context(), &ftpexec.Request{URL: parse(t, "ftp://h/f;type=a"), Offset: 3})
	if !errors.Is(err, ftpexec.ErrNoRestart) {
		t.Errorf("in ASCII type: error %v, want ErrNoRestart", err)
	}
}

func TestStat(t *testing.T) {
	when := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/a/f": "0123456789"}, ModTime: when})
	session := closing(t, &ftpexec.Client{})
	u := parse(t, s.URL("/a/f"))
	want := ftpexec.Entry{Name: "f", URL: u, Size: 10, ModTime: when, Precision: time.Second}
	if got, err := session.Stat(t.Context(), u); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if got, err := session.Stat(t.Context(), parse(t, s.URL("/a/missing"))); !errors.Is(err, ftpexec.ErrNotFound) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: got %+v, %v, want ErrNotFound", got, err)
	}
	if s.DataConnections() != 0 || s.Connections() != 1 || slices.Contains(s.Commands(), "EPSV") {
		t.Errorf("commands %q on %d connections", s.Commands(), s.Connections())
	}
}

// A file is missing only if the server says so to all that Stat asks.
func TestStatRefused(t *testing.T) {
	when := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, tt := range []struct {
		path, size, mdtm string
		want             ftpexec.Entry
		err              error // and what it means for package fs:
		means            error
	}{
		{"/f", "550 f: No such file", "550 f: No such file", ftpexec.Entry{}, ftpexec.ErrNotFound, fs.ErrNotExist},
		{"/f", "550 Could not get file size.", "550 Could not get file modification time.", ftpexec.Entry{}, ftpexec.ErrNotFound, fs.ErrNotExist},
		{"/f", "550 f: Permission denied", "550 f: Permission denied", ftpexec.Entry{}, ftpexec.ErrRefused, fs.ErrPermission},
		{"/f", "550 SIZE not allowed in ASCII mode", "213 20260203040506", ftpexec.Entry{Mode: fs.ModeIrregular, Size: -1, ModTime: when, Precision: time.Second}, nil, nil},
		{"/f", "213 8", "550 no", ftpexec.Entry{Size: 8}, nil, nil},
		{"/f", "550 no", "502 what", ftpexec.Entry{}, ftpexec.ErrNotFound, fs.ErrNotExist},
		{"/f", "500 what", "550 no", ftpexec.Entry{}, ftpexec.ErrNotFound, fs.ErrNotExist},
		{"/f", "550 no", "450 busy", ftpexec.Entry{}, ftpexec.ErrNotFound, fs.ErrNotExist},
		{"/f", "500 what", "502 what", ftpexec.Entry{Mode: fs.ModeIrregular, Size: -1}, nil, nil},
		{"/f", "450 busy", "450 busy", ftpexec.Entry{Mode: fs.ModeIrregular, Size: -1}, nil, nil},
		{"/f;type=a", "500 what", "550 f: No such file", ftpexec.Entry{}, ftpexec.ErrNotFound, fs.ErrNotExist},
		{"/f", "213 x", "213 y", ftpexec.Entry{Mode: fs.ModeIrregular, Size: -1}, nil, nil},
		{"/f;type=a", "550 no", "213 20260203040506", ftpexec.Entry{Mode: fs.ModeIrregular, Size: -1, ModTime: when, Precision: time.Second}, nil, nil},
	} {
		for _, sequential := range []bool{false, true} {
			s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("SIZE", testserver.Reply(tt.size)), testserver.On("MDTM", testserver.Reply(tt.mdtm)))
			u := parse(t, s.URL(tt.path))
			if tt.err == nil {
				tt.want.Name, tt.want.URL = "f", u
			}
			got, err := (&ftpexec.Client{MaxIdle: -1, NoPipelining: sequential}).Stat(t.Context(), u)
			switch {
			case tt.err != nil:
				if !errors.Is(err, tt.err) || !errors.Is(err, tt.means) || got != (ftpexec.Entry{}) {
					t.Errorf("%s, %q, %q: got %+v, %v, want %v", tt.path, tt.size, tt.mdtm, got, err, tt.err)
				}
			case err != nil || got != tt.want:
				t.Errorf("%s, %q, %q: got %+v, %v, want %+v", tt.path, tt.size, tt.mdtm, got, err, tt.want)
			}
			s.Close()
		}
	}
}

func TestHash(t *testing.T) {
	sum := sha256.Sum256([]byte("contents"))
	for _, tt := range []struct {
		name, feat string
		step       testserver.Step
		want       error
		text       string // the end of the error
	}{
		{"HASH", "211-x\r\n HASH SHA-256*;MD5\r\n211 y", testserver.On("HASH", testserver.Reply(fmt.Sprintf("213 SHA-256 0-8 %x f", sum))), nil, ""},
		{"XSHA256", "211-x\r\n XSHA256\r\n211 y", testserver.On("XSHA256", testserver.Reply(fmt.Sprintf("250 %X", sum))), nil, ""},
		{"many on a line", "211-x\r\n XCRC;XMD5;XSHA256\r\n211 y", testserver.On("XSHA256", testserver.Reply(fmt.Sprintf("250 f %x", sum))), nil, ""},
		{"not offered", "211-x\r\n SIZE\r\n211 y", testserver.On("NOOP"), errors.ErrUnsupported, ": it offers no command for sha256"},
		{"other algorithm", "211-x\r\n HASH MD5\r\n XMD5\r\n211 y", testserver.On("NOOP"), errors.ErrUnsupported, ": it offers no command for sha256"},
		{"no FEAT", "500 what", testserver.On("NOOP"), errors.ErrUnsupported, ": it offers no command for sha256"},
		{"refused", "211-x\r\n XSHA256\r\n211 y", testserver.On("XSHA256", testserver.Reply("450 no")), errors.ErrUnsupported, "no digest from the server: it says 450 no"},
		{"no digest", "211-x\r\n XSHA256\r\n211 y", testserver.On("XSHA256", testserver.Reply("250 abcd")), errors.ErrUnsupported, ": it says 250 abcd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("FEAT", testserver.Reply(tt.feat)),
				testserver.On("OPTS", testserver.Reply("200 SHA-256")), tt.step)
			session := closing(t, &ftpexec.Client{})
			got, err := session.Hash(t.Context(), parse(t, s.URL("/a/f")), "sha256")
			if !errors.Is(err, tt.want) || tt.want == nil && string(got) != string(sum[:]) {
				t.Errorf("got %x, %v, want %x, %v", got, err, sum, tt.want)
			}
			if e := (*ftpexec.Error)(nil); errors.As(err, &e) && (!strings.HasSuffix(e.Error(), tt.text) || ftpexec.Retryable(e)) {
				t.Errorf("got %v, temporary %v, want %q at its end", err, ftpexec.Retryable(e), tt.text)
			}
			wantContents(t, session, parse(t, s.URL("/a/f"))) // afterwards
		})
	}
}

// If a server offers several commands for an algorithm, HASH comes first, and then the commands with the longer names.
func TestHashPrefers(t *testing.T) {
	for _, tt := range []struct{ algorithm, feat, want string }{
		{"sha1", "XSHA\r\n XSHA1\r\n HASH SHA-1", "OPTS HASH SHA-1,HASH f"},
		{"sha1", "XSHA\r\n XSHA1", "XSHA1 f"},
		{"sha1", "XSHA", "XSHA f"},
		{"md5", "MD5\r\n XMD5", "XMD5 f"},
		{"md5", "MD5", "MD5 f"},
		{"crc32", "XCRC", "XCRC f"},
		{"sha512", "XSHA512", "XSHA512 f"},
	} {
		s := testserver.New(t, nil, testserver.Honest(""), testserver.On("FEAT", testserver.Reply("211-x\r\n "+tt.feat+"\r\n211 y")),
			testserver.On("PWD", testserver.Reply(`257 "not a path"`)))
		_, err := (&ftpexec.Client{MaxIdle: -1}).Hash(t.Context(), parse(t, s.URL("/f")), tt.algorithm)
		if !errors.Is(err, errors.ErrUnsupported) { // the server knows no command
			t.Errorf("%s of %s: got %v", tt.algorithm, tt.feat, err)
		}
		sent := s.Commands()
		sent = slices.DeleteFunc(sent[slices.Index(sent, "FEAT")+1:], func(line string) bool { return line == "QUIT" })
		if got := strings.Join(sent, ","); got != "PWD,"+tt.want {
			t.Errorf("%s of %s: sent %s, want PWD,%s", tt.algorithm, tt.feat, got, tt.want)
		}
	}
}
