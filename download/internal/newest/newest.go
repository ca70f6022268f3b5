// Package newest finds the newest of some files, as far as the times in listings tell them.
package newest

import (
	"slices"
	"sort"
	"time"

	"example.com/ftpfetch/ftpexec"
)

// Place says whether a file is among the newest.
type Place uint8

const (
	Never    Place = iota
	Possible       // depends on the exact times of others
	Vague          // depends on its own exact time, which the listing does not tell
	Certain
)

// Places returns for each of the entries, which are of one server, whether it is among the n newest. Entries of the
// same time count as if each were before the other. At most n are Certain, and at least n are not Never, if there are
// that many entries.
func Places(entries []*ftpexec.Entry, n int) []Place {
	zoned := mixed(entries)
	spans := make([]span, len(entries))
	froms := make([]time.Time, len(entries))
	tos := make([]time.Time, len(entries))
	for i, e := range entries {
		spans[i] = spanOf(e, zoned)
		froms[i] = spans[i].from
		tos[i] = spans[i].to
	}
	slices.SortFunc(froms, time.Time.Compare)
	slices.SortFunc(tos, time.Time.Compare)
	places := make([]Place, len(entries))
	for i, s := range spans {
		older := sort.Search(len(tos), func(k int) bool { return !tos[k].Before(s.from) })
		notNewer := sort.Search(len(froms), func(k int) bool { return froms[k].After(s.to) })
		switch {
		case len(tos)-older-1 < n: // fewer than n others may be newer
			places[i] = Certain
		case len(froms)-notNewer >= n: // n are newer
		case s.from.Equal(s.to):
			places[i] = Possible
		default:
			places[i] = Vague
		}
	}
	return places
}

// mixed reports whether some times are local and others in UTC. Local times can be compared with each other, because
// they are those of one server, but only roughly with times in UTC.
func mixed(entries []*ftpexec.Entry) bool {
	local, utc := false, false
	for _, e := range entries {
		if !Unknown(e) {
			local = local || e.Local
			utc = utc || !e.Local
		}
	}
	return local && utc
}

// Unknown reports whether the time of an entry is not known at all.
func Unknown(e *ftpexec.Entry) bool { return e.Precision == 0 || e.ModTime.IsZero() }

// Exact reports whether the time of an entry is exact to the second, apart from its zone.
func Exact(e *ftpexec.Entry) bool {
	return !Unknown(e) && !e.YearGuessed && e.Precision <= time.Second
}

// span is when a file may have changed.
type span struct{ from, to time.Time }

// zones is how far the local time of a server may be from UTC.
const zones = 14 * time.Hour

func spanOf(e *ftpexec.Entry, zoned bool) span {
	if Unknown(e) {
		return span{time.Time{}, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}
	}
	s := span{e.ModTime, e.ModTime}
	if e.Precision > time.Second {
		s.to = s.to.Add(e.Precision - 1)
	}
	if e.YearGuessed { // perhaps the next such day is meant
		s.to = s.to.AddDate(1, 0, 0)
	}
	if zoned && e.Local {
		s.from = s.from.Add(-zones)
		s.to = s.to.Add(zones)
	}
	return s
}
