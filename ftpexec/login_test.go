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
		want string // commands up to CWD
	}{
		{"332 to PASS", testserver.On("PASS", testserver.Reply("332 account")), "USER u,PASS word,ACCT word-account,CWD a"},
		{"332 to USER", testserver.On("USER", testserver.Reply("332 account")), "USER u,ACCT word-account,CWD a"},
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

// Before the server has replied 331, Credentials is not asked and no password is sent.
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
		{"421 greeting", "u", testserver.On("", testserver.Reply("421 busy"), testserver.End(testserver.Closed)), false, ftpexec.ErrConnect},
	} {
		for _, sequential := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/sequential=%v", tt.name, sequential), func(t *testing.T) {
				s := testserver.New(t, nil, testserver.Honest("contents"), tt.step)
				var seen []string // what the server had received when Credentials was asked
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
				c := closing(t, &ftpexec.Client{Trace: d.add, NoPipelining: sequential})
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
