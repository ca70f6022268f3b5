package download

import (
	"errors"
	"slices"
	"sync"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/urlparse"
)

// spareConnections are the connections that a file uses besides its first. They go to all servers that have the file, in
// turn.
type spareConnections struct {
	turn *schedule.Turn[*job]

	mu   sync.Mutex
	urls []*urlparse.URL       // of the file; the first one is being tried
	used map[*urlparse.URL]int // connections for each of them
}

// next takes a connection that no other file needs, and returns the URL for it, or nil.
func (s *spareConnections) next() *urlparse.URL {
	s.mu.Lock()
	defer s.mu.Unlock()
	fewer := func(x, y *urlparse.URL) int { return s.used[x] - s.used[y] }
	for _, u := range slices.SortedStableFunc(slices.Values(s.urls), fewer) {
		if s.turn.Spare(u.Address(), 1) == 1 {
			s.used[u]++
			return u
		}
	}
	return nil
}

// free gives back a connection; err is why it failed, or nil. After a failure that a retry does not mend, another server is
// not used for the file any more.
func (s *spareConnections) free(u *urlparse.URL, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used[u]--
	if err != nil && u != s.urls[0] && !ftpexec.Retryable(err) {
		s.urls = slices.DeleteFunc(slices.Clone(s.urls), func(x *urlparse.URL) bool { return x == u })
	}
	if errors.Is(err, ftpexec.ErrTooMany) {
		s.turn.Refused(u.Address(), err)
	} else {
		s.turn.Return(u.Address())
	}
}
