package wire

import (
	"slices"
	"strings"
	"sync"
)

const (
	stars = "********"

	// minSecret is the length of the shortest secret that is masked. Shorter ones occur by chance in what a server
	// sends, and masking them would reveal them.
	minSecret = 3
	// maxSecrets bounds how many secrets are remembered. The one used longest ago is forgotten first.
	maxSecrets = 1024
)

// Secrets remembers the passwords and accounts that a client has sent. A server, or another one with the same name or
// proxy, may repeat them on any later connection, so all connections of a client share a Secrets. The zero value is
// ready to use. It is safe for concurrent use. Package fmt, which prints unexported fields too, shows no secret.
type Secrets struct {
	mu   sync.Mutex
	used func() []string // the latest last; nil if there are none
	hide func(text string) string
}

// Add remembers a secret that is about to be sent.
func (s *Secrets) Add(secret string) {
	if len(secret) < minSecret {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var used []string
	if s.used != nil {
		used = s.used()
	}
	used = append(slices.DeleteFunc(used, func(known string) bool { return known == secret }), secret)
	used = used[max(0, len(used)-maxSecrets):]
	s.used = func() []string { return used }
	longest := slices.SortedStableFunc(slices.Values(used), func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, secret := range longest { // one may contain another
		pairs = append(pairs, secret, stars)
	}
	s.hide = strings.NewReplacer(pairs...).Replace
}

// Mask returns text with stars in place of every secret.
func (s *Secrets) Mask(text string) string {
	if s == nil {
		return text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hide == nil {
		return text
	}
	return s.hide(text)
}
