package wire

import (
	"slices"
	"strings"
	"sync"
)

const stars = "********"

const (
	// minSecret is the length from which a secret is searched for in what a server says. Shorter ones occur by
	// chance, and hiding them would tell them.
	minSecret = 3
	// maxSecrets bounds how many secrets are remembered; the one used longest ago is forgotten first.
	maxSecrets = 1024
)

// Secrets remembers the passwords and accounts that a client has sent. A server, or another one behind the same
// name or proxy, may repeat them on any later connection, so all connections of a client share one. The zero
// value is ready, and safe for concurrent use.
type Secrets struct {
	mu   sync.Mutex
	used []string // the latest last
	hide *strings.Replacer
}

// Add remembers a secret that is about to be sent.
func (s *Secrets) Add(secret string) {
	if len(secret) < minSecret {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.used, secret); i >= 0 {
		s.used = append(slices.Delete(s.used, i, i+1), secret)
		return
	}
	s.used = append(s.used, secret)
	s.used = s.used[max(0, len(s.used)-maxSecrets):]
	longest := slices.SortedStableFunc(slices.Values(s.used), func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, secret := range longest { // one may hold another
		pairs = append(pairs, secret, stars)
	}
	s.hide = strings.NewReplacer(pairs...)
}

// mask returns text with stars in place of every secret.
func (s *Secrets) mask(text string) string {
	if s == nil {
		return text
	}
	s.mu.Lock()
	hide := s.hide
	s.mu.Unlock()
	if hide == nil {
		return text
	}
	return hide.Replace(text)
}
