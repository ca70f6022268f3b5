package ftpexec_test

import (
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// TestPlaces lists directories that are deep in a tree one after another. PWD shows that the server names directories by
// the CWDs that lead there, and then one CWD leads back to what two of them have in common. A name that differs does not.
func TestPlaces(t *testing.T) {
	const deep = "/1/2/3/4/5/6/7/8/9"
	for _, tt := range []struct{ pwd, want string }{
		{deep + "/a", "CWD " + deep + ",CWD b|CWD " + deep + ",CWD c,CWD d|CWD /1/2,CWD x"},
		{"/elsewhere", "CWD /,CWD 1,CWD 2,CWD 3,CWD 4,CWD 5,CWD 6,CWD 7,CWD 8,CWD 9,CWD b|CWD /,CWD 1,CWD 2,CWD 3,CWD 4,CWD 5,CWD 6,CWD 7,CWD 8,CWD 9,CWD c,CWD d|CWD /,CWD 1,CWD 2,CWD x"},
	} {
		s := testserver.NewScript(t, testserver.Honest(""), testserver.OnNth(2, "PWD", testserver.Reply(`257 "`+tt.pwd+`"`)))
		var c ftpexec.Client
		var got []string
		for _, path := range []string{deep + "/a/", deep + "/b/", deep + "/c/d/", "/1/2/x/"} {
			before := len(s.Commands())
			for _, err := range c.Entries(t.Context(), parse(t, s.URL(path))) {
				if err != nil {
					t.Fatal(err)
				}
			}
			if before > 0 {
				ways := slices.DeleteFunc(s.Commands()[before:], func(line string) bool { return !strings.HasPrefix(line, "CWD") })
				got = append(got, strings.Join(ways, ","))
			}
		}
		if strings.Join(got, "|") != tt.want {
			t.Errorf("%s: %s, want %s", tt.pwd, strings.Join(got, "|"), tt.want)
		}
		c.CloseIdleConnections()
	}
}
