package ftpexec_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// fixed returns Credentials with one password and one account.
func fixed(password string) func(ctx context.Context, host, user, what string) (string, error) {
	return func(_ context.Context, _, _, what string) (string, error) {
		return map[string]string{"password": password, "account": password + "-account"}[what], nil
	}
}

func TestAccount(t *testing.T) {
	for _, tt := range []struct {
		name string
		step testserver.Step
		want string // commands up to the end of the login
	}{
		{"332 to PASS", testserver.On("PASS", testserver.Reply("332 account")), "USER u,PASS word,ACCT word-account,"},
		{"332 to USER", testserver.On("USER", testserver.Reply("332 account")), "USER u,ACCT word-account,"},
	} {
		for _, sequential := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/sequential=%v", tt.name, sequential), func(t *testing.T) {
				s := testserver.New(t, nil, testserver.Honest("contents"), tt.step, testserver.On("ACCT", testserver.Reply("230 in")))
				c := &ftpexec.Client{MaxIdle: -1, Credentials: fixed("word"), NoPipelining: sequential}
				wantContents(t, c, parse(t, s.URL("u@/a/f")))
				cmds := s.Commands()
				if i := slices.Index(cmds, "ACCT word-account"); i < 0 || !slices.Contains(cmds[i:], "CWD a") {
					t.Errorf("commands %q: no CWD a after ACCT", cmds)
				}
				if sequential && !strings.HasPrefix(strings.Join(cmds, ","), tt.want) {
					t.Errorf("commands %q, want %q first", cmds, tt.want)
				}
			})
		}
	}
	t.Run("none to give", func(t *testing.T) {
		s := testserver.New(t, nil, testserver.Honest(""), testserver.On("PASS", testserver.Reply("332 account")))
		_, err := read(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URL("u:p@/a/f")))
		if !errors.Is(err, ftpexec.ErrNoCredentials) {
			t.Errorf("error %v, want ErrNoCredentials", err)
		}
	})
}

// Before the server has replied 331, the client neither calls Credentials nor sends a password.
func TestPasswordIsAskedForLate(t *testing.T) {
	for _, tt := range []struct {
		name, userinfo string
		step           testserver.Step
		asked          bool
		want           error
	}{
		{"331", "u", testserver.On("USER", testserver.Reply("331 x")), true, ftpexec.ErrNoCredentials},
		{"530 to USER", "u", testserver.On("USER", testserver.Reply("530 use TLS")), false, ftpexec.ErrLogin},
		{"530 to USER, password in the URL", "u:secret", testserver.On("USER", testserver.Reply("530 use TLS")), false, ftpexec.ErrLogin},
		{"230 to USER", "u:secret", testserver.On("USER", testserver.Reply("230 x")), false, nil},
		{"421 greeting", "u", testserver.On("", testserver.Reply("421 busy"), testserver.EndControl(testserver.Closed)), false, ftpexec.ErrConnect},
	} {
		for _, sequential := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/sequential=%v", tt.name, sequential), func(t *testing.T) {
				s := testserver.New(t, nil, testserver.Honest("contents"), tt.step)
				var seen []string // what the server had received when Credentials was called
				ask := func(context.Context, string, string, string) (string, error) {
					seen = s.Commands()
					return "", ftpexec.ErrNoCredentials
				}
				_, err := read(t.Context(), &ftpexec.Client{MaxIdle: -1, Credentials: ask, NoPipelining: sequential}, parse(t, s.URL(tt.userinfo+"@/f")))
				if !errors.Is(err, tt.want) {
					t.Errorf("error %v, want %v", err, tt.want)
				}
				if asked := seen != nil; asked != tt.asked || asked && !slices.Equal(seen, []string{"USER u"}) {
					t.Errorf("asked %v with %q received, want %v", asked, seen, tt.asked)
				}
				if slices.ContainsFunc(s.Commands(), func(l string) bool { return strings.HasPrefix(l, "PASS") }) {
					t.Errorf("a password was sent: %q", s.Commands())
				}
			})
		}
	}
}

// formatted returns values as fmt prints them with each verb.
func formatted(values ...any) string {
	var b strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%t"} {
		for _, v := range values {
			fmt.Fprintf(&b, verb+"\n", v)
		}
	}
	return b.String()
}

// No error, trace, plan or client shows the password, raw or encoded, whatever the server does with it, and in whatever
// format a program prints them.
func TestPasswordIsNeverShown(t *testing.T) {
	const password = "p%4ss/w:rd@é"
	encoded := strings.ReplaceAll(url.QueryEscape(password), "+", "%20")
	steps := map[string]testserver.Step{
		"login works":       testserver.On("NOOP", testserver.Reply("200 x")),
		"repeated in a 230": testserver.On("PASS", testserver.Reply("230 welcome, your password is "+password)),
		"repeated in a 530": testserver.On("PASS", testserver.Reply("530-no\r\n"+password+"\r\n530 wrong: "+password)),
		"repeated later":    testserver.On("CWD", testserver.Reply("550 PASS "+password)),
		"repeated nonsense": testserver.On("CWD", testserver.Reply("PASS "+password)),
		"repeated in a 226": testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("", testserver.Closed), testserver.Reply("426 "+password)),
		"repeated in a 421": testserver.On("TYPE", testserver.Reply("421 "+password)),
		"repeated as a 257": testserver.On("PWD", testserver.Reply("257 \""+password+"\"")),
	}
	for name, step := range steps {
		for _, sequential := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/sequential=%v", name, sequential), func(t *testing.T) {
				s := testserver.New(t, nil, testserver.Honest("contents"), step)
				var d diary
				u := parse(t, s.URL("user:"+encoded+"@/a/f"))
				c := closing(t, &ftpexec.Client{Trace: d.trace(), NoPipelining: sequential})
				_, err := read(t.Context(), c, u)
				_, err2 := read(t.Context(), c, u)
				c.CloseIdleConnections()
				p, _ := ftpexec.Plan(u)
				shown := d.text() + formatted(err, err2, p, c, d.events)
				if e := (*ftpexec.Error)(nil); errors.As(err, &e) {
					shown += formatted(*e)
				}
				for _, form := range []string{password, encoded, "ss/w", "w%3Ard", "w%3ard"} {
					if strings.Contains(shown, form) {
						t.Errorf("%q is shown in\n%s", form, shown)
					}
				}
				if !slices.Contains(s.Commands(), "PASS "+password) {
					t.Errorf("the server did not get the password: %q", s.Commands())
				}
			})
		}
	}
}

// TestSecretsHoldNoSecondCommand checks RFC 1738 section 6 for what does not come from a URL: passwords and accounts
// from Credentials.
func TestSecretsHoldNoSecondCommand(t *testing.T) {
	for _, end := range []string{"\r\n", "\n", "\r", "\x00"} {
		for what, server := range map[string]testserver.Step{
			"password":                   testserver.Honest("x"),
			"account":                    testserver.Honest("x").With("PASS", testserver.Reply("332 account?")),
			"account without a password": testserver.Honest("x").With("USER", testserver.Reply("332 account?")),
		} {
			s := testserver.New(t, nil, server)
			c := &ftpexec.Client{MaxIdle: -1, Credentials: only("hidden" + end + "DELE x")}
			u := parse(t, s.URL("/f"))
			u.User = url.User("me")
			if what == "account" {
				u.User = url.UserPassword("me", "fine")
			}
			_, err := read(t.Context(), c, u)
			if !errors.Is(err, ftpexec.ErrLogin) || strings.Contains(err.Error(), "hidden") {
				t.Errorf("%s with %q: got %v, want it refused and not shown", what, end, err)
			}
			if got := s.Commands(); slices.ContainsFunc(got, func(l string) bool { return strings.Contains(l, "hidden") || strings.HasPrefix(l, "DELE") }) {
				t.Errorf("%s with %q: the server received %q", what, end, got)
			}
		}
	}
}

// only returns Credentials that are the same word for everything.
func only(word string) func(ctx context.Context, host, user, what string) (string, error) {
	return func(context.Context, string, string, string) (string, error) { return word, nil }
}

// repeating are the stages at which a server may repeat a secret from another connection, in a reply that accepts and
// in one that refuses.
var repeating = []struct {
	name, well, ill string
	list            bool
}{
	{"greeting", "220", "421", false}, {"USER", "331", "530", false}, {"PASS", "230", "530", false}, {"PWD", "257", "500", false},
	{"CWD", "250", "550", false}, {"TYPE", "200", "504", false}, {"SIZE", "213", "550", false}, {"MDTM", "213", "550", false},
	{"EPSV", "500", "421", false}, {"RETR", "150", "550", false}, {"226", "226", "451", false}, {"NLST", "150", "550", true},
}

func repeat(stage, reply string) testserver.Step {
	switch stage {
	case "greeting":
		return testserver.On("", testserver.Reply(reply))
	case "226":
		return testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("contents", testserver.Closed), testserver.Reply(reply))
	case "RETR", "NLST":
		if strings.HasPrefix(reply, "1") {
			return testserver.On(stage, testserver.Reply(reply), testserver.Data("contents", testserver.Closed), testserver.Reply("226 x"))
		}
	}
	return testserver.On(stage, testserver.Reply(reply))
}

// A secret is masked on every later connection of the Client, in traces, errors and replies, whichever server repeats
// it.
func TestSecretsOnLaterConnections(t *testing.T) {
	const word = "hiddenword"
	logins := []struct {
		name, userinfo string
		first          testserver.Step
	}{
		{"password", "u:" + word, testserver.Honest("contents")},
		{"encoded colon", "u%3A" + word, testserver.Honest("contents")},
		{"asked for", "u", testserver.Honest("contents")},
		{"account", "u:other", testserver.Honest("contents").With("PASS", testserver.Reply("332 account"))},
		{"anonymous account", "anonymous", testserver.Honest("contents").With("PASS", testserver.Reply("332 account"))},
		{"refused password", "u:" + word, testserver.Honest("contents").With("PASS", testserver.Reply("530 no"))},
		{"malformed reply", "u:" + word, testserver.Honest("contents").With("PASS", testserver.Reply("hello "+word))},
	}
	nth := 0
	for _, login := range logins {
		for _, stage := range repeating {
			for _, code := range []string{stage.well, stage.ill, "314", "?"} {
				if nth++; nth%night.Or(5, 1) != 0 {
					continue
				}
				var d diary
				c := within(ample)
				c.Trace, c.Credentials = d.trace(), only(word)
				s := testserver.New(t, nil, login.first)
				_, err := read(t.Context(), c, parse(t, s.URL(login.userinfo+"@/a/f")))
				wantHidden(t, login.name+" itself", word, err, &d)
				later := testserver.New(t, nil, testserver.Honest("contents"), repeat(stage.name, code+" for "+word+"\r\n"))
				_, err = do(t.Context(), c, parse(t, later.URL(pathOf(stage.list))))
				wantHidden(t, login.name+", then "+stage.name+" "+code, word, err, &d)
				s.Close()
				later.Close()
			}
		}
	}
}

func wantHidden(t *testing.T, what, word string, err error, d *diary) {
	t.Helper()
	shown := fmt.Sprintf("trace:\n%s\nerror: %v\n", d.text(), err)
	if e := (*ftpexec.Error)(nil); errors.As(err, &e) {
		shown += "reply: " + e.Reply
	}
	if strings.Contains(shown, word) {
		t.Errorf("%s: it is shown\n%s", what, shown)
	}
}

// A colon encoded by mistake makes the password part of the user name. It is sent like that, but not shown.
func TestEncodedColon(t *testing.T) {
	var d diary
	s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("RETR", testserver.Reply("550 not for hiddenword")))
	u := parse(t, s.URL("user%3Ahiddenword@/f"))
	c := &ftpexec.Client{MaxIdle: -1, Trace: d.trace(), Credentials: fixed("other")}
	_, err := read(t.Context(), c, u)
	wantHidden(t, "trace", "hiddenword", err, &d)
	if err == nil || !strings.Contains(err.Error(), "user%3A***@") || !strings.Contains(d.text(), "USER user:********\n") {
		t.Errorf("got %v and the trace\n%s", err, d.text())
	}
	if !slices.Contains(s.Commands(), "USER user:hiddenword") {
		t.Errorf("commands %q", s.Commands())
	}
	if plan := planned(t, u); strings.Contains(plan, "hidden") || !strings.Contains(plan, "|USER user:********|") {
		t.Errorf("plan %s", plan)
	}
}

// TestSlashInPassword uses in every way a path that may contain the end of a password with a "/" in it, or a second
// URL. Only the server sees the password, and it is masked if the server repeats it.
func TestSlashInPassword(t *testing.T) {
	for _, path := range []string{"/hiddenword@host/f", "/hiddenword@host", "/hiddenword@host/", "/x,ftp://me:hiddenword@host/f", "u:other@/x,ftp://me:hiddenword@host/f"} {
		var d diary
		s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("RETR", testserver.Reply("550 no hiddenword here")),
			testserver.On("NLST", testserver.Reply("550 no hiddenword here")))
		c := &ftpexec.Client{MaxIdle: -1, Trace: d.trace()}
		u := parse(t, s.URL(path))
		_, err := do(t.Context(), c, u)
		if wantHidden(t, path, "hiddenword", err, &d); err == nil || !strings.Contains(strings.Join(s.Commands(), "\n"), "hiddenword@host") {
			t.Errorf("%s: got %v, commands %q", path, err, s.Commands())
		}
		_, err = c.Stat(t.Context(), u)
		wantHidden(t, path, "hiddenword", err, &d)
		if plan := planned(t, u); strings.Contains(plan, "hidden") || !strings.Contains(plan+"|", "***@host|") {
			t.Errorf("%s: plan\n%s, %v", path, plan, err)
		}
	}
}
