package ftpexec_test

import (
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/urlparse"
)

// plans are URLs with their plans.
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
			if got := planned(t, parse(t, tt.url)); got != tt.want {
				t.Errorf("got\n%s, want\n%s", got, tt.want)
			}
		})
	}
}

func TestPlanHoldsNoPassword(t *testing.T) {
	p, err := ftpexec.Plan(parse(t, "ftp://user:s3cret@h/a"))
	if shown := formatted(p); err != nil || strings.Contains(shown, "s3cret") {
		t.Errorf("%v; the plan has the password:\n%s", err, shown)
	}
}

// Plan refuses a URL value made by hand that Parse would refuse as text.
func TestPlanRefusesBadValues(t *testing.T) {
	u := &urlparse.URL{Scheme: urlparse.FTP, Host: "h", Name: "f", Dirs: []string{"a\r\nDELE x"}}
	if p, err := ftpexec.Plan(u); err == nil {
		t.Errorf("no error, but the plan\n%v", p)
	}
}

// planned returns the plan of u, "|" between its commands.
func planned(t *testing.T, u *urlparse.URL) string {
	t.Helper()
	plan := must.Get(ftpexec.Plan(u))(t)
	var shown []string
	for _, c := range plan {
		shown = append(shown, c.String())
	}
	return strings.Join(shown, "|")
}
