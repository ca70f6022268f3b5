package ftpexec_test

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/rules/night"
	"example.com/ftpfetch/internal/rules/table"
	"example.com/ftpfetch/testserver"
)

// stages are where a server may reply that there are too many, or that it requires TLS. want is the other error that the
// result wraps.
var stages = []struct {
	name string
	step func(reply string) testserver.Step
	want error
}{
	{"greeting", func(r string) testserver.Step {
		return testserver.On("", testserver.Reply(r), testserver.End(testserver.Closed))
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
				case full && stage.name == "CWD" && !strings.HasPrefix(reply, "421"): // these words are about a directory
					if errors.Is(err, ftpexec.ErrTooMany) || !errors.Is(err, ftpexec.ErrDirectory) {
						t.Errorf("%s to CWD: %v, want ErrDirectory alone", reply, err)
					}
				case !errors.Is(err, want) || !errors.As(err, &e) || e.Temporary() != full || !full && !strings.Contains(e.Hint, "ftpes://"):
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

// Under TLS the words that ask for it mean nothing.
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
