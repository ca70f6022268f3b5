package wire

import (
	"fmt"
	"strings"
	"testing"
)

func TestSecrets(t *testing.T) {
	var s Secrets
	for _, secret := range []string{"ab", "pass", "password", "", "pass"} {
		s.Add(secret)
	}
	for _, tt := range []struct{ in, want string }{
		{"", ""}, {"ab and pass", "ab and " + stars}, {"the password", "the " + stars}, {"passpass", stars + stars}, {"no", "no"},
	} {
		if got := s.Mask(tt.in); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
}

// The one used longest ago is forgotten first.
func TestSecretsAreBounded(t *testing.T) {
	const most = 1024 // as SECURITY.md says
	var s Secrets
	for i := range most + 1 {
		s.Add(fmt.Sprintf("<%d>", i))
		s.Add("<first>")
	}
	if kept := len(s.used()); kept != most {
		t.Errorf("%d secrets are kept, want %d", kept, most)
	}
	if got := s.Mask("<0> <first>"); !strings.HasPrefix(got, "<0>") || strings.Contains(got, "first") {
		t.Errorf("got %q", got)
	}
	if got, last := s.Mask(fmt.Sprintf("<%d>", most)), stars; got != last {
		t.Errorf("the latest is shown: %q", got)
	}
}
