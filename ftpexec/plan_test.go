package ftpexec_test

import (
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/internal/rules/table"
	"example.com/ftpfetch/urlparse"
)

func TestPlanDryRun(t *testing.T) {
	for _, row := range table.Rows(t, "plans.txt", "plans") {
		if got := planned(t, parse(t, row[0])); got != row[1] {
			t.Errorf("%s: got\n%s, want\n%s", row[0], got, row[1])
		}
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
