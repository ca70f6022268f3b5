package ftpexec_test

import (
	"net/url"
	"reflect"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// plans are URLs with their plans, | in place of LF.
var plans = []struct{ url, want string }{
	{"ftp://host.dom/%2Fetc/motd", "CONNECT host.dom:21|USER anonymous|PASS <anonymous>|CWD /etc|TYPE I|RETR motd"},
	{"ftp://myname@host.dom/%2Fetc/motd", "CONNECT host.dom:21|USER myname|PASS <prompt>|CWD /etc|TYPE I|RETR motd"},
	{"ftp://myname@host.dom/etc/motd", "CONNECT host.dom:21|USER myname|PASS <prompt>|CWD etc|TYPE I|RETR motd"},
	{"ftp://myname@host.dom//etc/motd", "CONNECT host.dom:21|USER myname|PASS <prompt>|CWD |CWD etc|TYPE I|RETR motd"},
	{"ftp://foo:bar@host.com:2121/a;type=a", "CONNECT host.com:2121|USER foo|PASS ********|TYPE A|RETR a"},
	{"ftp://foo:@host.com/", "CONNECT host.com:21|USER foo|PASS ********|TYPE A|NLST"},
	{"ftp://@host.com/", "CONNECT host.com:21|USER |PASS <prompt>|TYPE A|NLST"},
	{"ftp://h/a/b;type=d", "CONNECT h:21|USER anonymous|PASS <anonymous>|CWD a|TYPE A|NLST b"},
	{"ftp://h/a/b/", "CONNECT h:21|USER anonymous|PASS <anonymous>|CWD a|CWD b|TYPE A|NLST"},
	{"ftp://h", "CONNECT h:21|USER anonymous|PASS <anonymous>|TYPE A|NLST"},
	{"ftp://h/;type=d", "CONNECT h:21|USER anonymous|PASS <anonymous>|TYPE A|NLST"},
	{"ftp://h/a;type=i", "CONNECT h:21|USER anonymous|PASS <anonymous>|TYPE I|RETR a"},
	{"ftp://[::1]:2121/a", "CONNECT [::1]:2121|USER anonymous|PASS <anonymous>|TYPE I|RETR a"},
	{"ftp://h/%E9%01%5C%FF%20%22", `CONNECT h:21|USER anonymous|PASS <anonymous>|TYPE I|RETR \xe9\x01\\\xff "`},
	{"ftps://h/a", "CONNECT h:990 TLS|USER anonymous|PASS <anonymous>|TYPE I|RETR a"},
	{"ftpes://u:p@h/a", "CONNECT h:21|AUTH TLS|PBSZ 0|PROT P|USER u|PASS ********|TYPE I|RETR a"},
}

func TestPlanDryRun(t *testing.T) {
	for _, tt := range plans {
		t.Run(tt.url, func(t *testing.T) {
			want := strings.ReplaceAll(tt.want, "|", "\n") + "\n"
			if got := plan(t, tt.url).String(); got != want {
				t.Errorf("plan is\n%swant\n%s", got, want)
			}
		})
	}
}

func TestPlansCompare(t *testing.T) {
	a, b := plan(t, "ftp://h/a/b"), plan(t, "FTP://H:21/a/b;type=I")
	if !reflect.DeepEqual(a, b) {
		t.Errorf("equal plans differ:\n%v%v", a, b)
	}
	if c := plan(t, "ftp://h/a/b;type=a"); reflect.DeepEqual(a, c) {
		t.Errorf("different plans are equal:\n%v", a)
	}
}

func TestPlanHoldsNoPassword(t *testing.T) {
	p := plan(t, "ftp://user:s3cret@h/a")
	if strings.Contains(p.String(), "s3cret") {
		t.Errorf("plan shows the password:\n%v", p)
	}
	for _, c := range p.Commands {
		if strings.Contains(c.Arg, "s3cret") {
			t.Errorf("plan holds the password in %q", c.Verb)
		}
	}
}

// NewPlan refuses a URL value made by hand that Parse would refuse as text.
func TestPlanRefusesBadValues(t *testing.T) {
	base := urlparse.URL{Scheme: urlparse.FTP, Host: "h", Name: "f"}
	tests := map[string]func(u *urlparse.URL){
		"CR LF in a segment": func(u *urlparse.URL) { u.Dirs = []string{"a\r\nDELE x"} },
		"NUL in the name":    func(u *urlparse.URL) { u.Name = "a\x00" },
		"LF in the user":     func(u *urlparse.URL) { u.User = url.User("a\nb") },
		"CR in the password": func(u *urlparse.URL) { u.User = url.UserPassword("a", "b\r") },
		"no file to retrieve": func(u *urlparse.URL) {
			u.Name, u.Type = "", urlparse.TypeImage
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			u := base
			change(&u)
			if p, err := ftpexec.NewPlan(&u); err == nil {
				t.Errorf("no error, but the plan\n%v", p)
			}
		})
	}
}

func plan(t *testing.T, rawURL string) *ftpexec.Plan {
	t.Helper()
	u, err := urlparse.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ftpexec.NewPlan(u)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
