package ftpexec_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// lineEnds answers with a second command in its secrets.
type lineEnds string

func (s lineEnds) Password(context.Context, string, string) (string, error) {
	return "hidden" + string(s) + "DELE x", nil
}

func (s lineEnds) Account(context.Context, string, string) (string, error) {
	return "hidden" + string(s) + "DELE x", nil
}

// TestSecretsHoldNoSecondCommand: RFC 1738 section 6, for what does not come from a URL: passwords and
// accounts that are asked for, and the address of an anonymous login.
func TestSecretsHoldNoSecondCommand(t *testing.T) {
	for _, end := range []string{"\r\n", "\n", "\r", "\x00"} {
		for what, server := range map[string]testserver.Step{
			"password":                   testserver.Honest("x"),
			"account":                    testserver.Honest("x").With("PASS", testserver.Reply("332 account?")),
			"account without a password": testserver.Honest("x").With("USER", testserver.Reply("332 account?")),
			"email":                      testserver.Honest("x"),
		} {
			s := testserver.NewScript(t, server)
			c := &ftpexec.Client{Credentials: lineEnds(end), Email: "hidden" + end + "DELE x"}
			u := parse(t, s.URL("/f"))
			if what != "email" {
				u.User = some("me")
			}
			if what == "account" {
				u.Password = some("fine")
			}
			_, err := read(t.Context(), c, u)
			if err == nil || strings.Contains(err.Error(), "hidden") {
				t.Errorf("%s with %q: got %v, want it refused and not shown", what, end, err)
			}
			if got := s.Commands(); slices.ContainsFunc(got, func(l string) bool { return strings.Contains(l, "hidden") || strings.HasPrefix(l, "DELE") }) {
				t.Errorf("%s with %q: the server received %q", what, end, got)
			}
		}
	}
}
