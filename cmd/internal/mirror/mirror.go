// Package mirror keeps a local directory equal to a tree on a server. It selects files by age and size, and deletes
// files that the server no longer has.
package mirror

import (
	"context"
	"errors"
	"hash/maphash"
	"io/fs"
	"iter"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// Filter says which files of trees are wanted, by their ages and sizes. The zero value wants all. The command sets each
// field by the flag of the same name: --min-age is MinAge.
type Filter struct {
	MinAge    time.Duration // 0 means any age
	OlderThan time.Time     // files changed since then are unwanted; zero means any time
	NewerThan time.Time     // only files changed since then are wanted; zero means any time
	MinSize   int64         // in bytes; 0 means any size. A file of unknown size is wanted
	MaxSize   int64         // likewise
}

// matures reports whether files must have a certain age.
func (f Filter) matures() bool { return f.MinAge > 0 || !f.OlderThan.IsZero() }

// aged reports whether the age of files matters.
func (f Filter) aged() bool { return f.matures() || !f.NewerThan.IsZero() }

// omits reports whether the size of a file is below MinSize or above MaxSize; -1 means an unknown size.
func (f Filter) omits(size int64) bool {
	return size >= 0 && size < f.MinSize || f.MaxSize > 0 && size > f.MaxSize
}

// Source is a FullSource that omits unwanted files from its listings, and remembers the entries of all listings unless
// it Forgets.
type Source struct {
	download.FullSource
	Filter
	Dates   bool            // ask for the times of all files whose year the server leaves open
	Forgets bool            // do not remember the entries, which Hides, Delete and a Way need
	Trees   []download.Task // trees whose files may be deleted

	left    atomic.Int64 // number of unwanted files
	cleared atomic.Int64 // number of files that a Way has removed
	mu      sync.Mutex
	// seen has the keys of all entries, and, with the name ".", of the directories that were listed whole.
	seen    map[uint64]struct{}
	witness map[int]*urlparse.URL // for each of Trees, a file that the server has
}

var _ download.FullSource = (*Source)(nil)

// LeftOut returns how many files s has left out of its listings so far.
func (s *Source) LeftOut() int64 { return s.left.Load() }

// Entries is EntriesEarly without the callbacks.
func (s *Source) Entries(ctx context.Context, dir *urlparse.URL) iter.Seq2[ftpexec.Entry, error] {
	return s.EntriesEarly(ctx, dir, nil, nil)
}

// EntriesEarly lists a directory. It asks the server for the times that are too rough in the listing to decide. With a
// Filter, it passes no entry to entry.
func (s *Source) EntriesEarly(ctx context.Context, dir *urlparse.URL, entry func(ftpexec.Entry),
	login func(string)) iter.Seq2[ftpexec.Entry, error] {
	if s.Filter != (Filter{}) || s.Dates {
		entry = nil
	}
	return func(yield func(ftpexec.Entry, error) bool) {
		var rough []ftpexec.Entry
		var file *urlparse.URL
		in := dir.Key()
		whole := true
		for e, err := range s.FullSource.EntriesEarly(ctx, dir, entry, login) {
			if err == nil {
				s.see(in, path.Base(e.Name))
			} else {
				whole = false
			}
			if e.Mode.IsRegular() {
				file = e.URL
			}
			switch file := err == nil && e.Mode.IsRegular(); {
			case file && s.omits(e.Size):
				s.left.Add(1)
			case file && s.asks(e):
				rough = append(rough, e)
			case file && !s.wants(e):
			case !yield(e, err):
				return
			}
		}
		if whole {
			s.listed(in, file)
		}
		s.sharpen(ctx, rough, yield)
	}
}

// sharpen asks the server for the times of the entries, and yields the wanted entries.
func (s *Source) sharpen(ctx context.Context, rough []ftpexec.Entry,
	yield func(ftpexec.Entry, error) bool) {
	urls := make([]*urlparse.URL, len(rough))
	for i, e := range rough {
		urls[i] = e.URL
	}
	for told, err := range s.StatAll(ctx, urls) {
		if err != nil && !errors.Is(err, ftpexec.ErrNotFound) &&
			!errors.Is(err, ftpexec.ErrRefused) {
			yield(ftpexec.Entry{}, err)
			return
		}
		e := rough[0]
		rough = rough[1:]
		if !told.ModTime.IsZero() || s.aged() {
			e.ModTime = told.ModTime
			e.Precision = told.Precision
			e.Local = false
			e.YearGuessed = false
		}
		if s.wants(e) && !yield(e, nil) {
			return
		}
	}
}

// asks reports whether the server is asked for the time of a file.
func (s *Source) asks(e ftpexec.Entry) bool {
	return s.aged() && s.unsure(e) || s.Dates && e.YearGuessed
}

// unsure reports whether the time of an entry is too rough to decide. The time zones of server and client may be a day
// apart, and a day without a year may be ahead of now.
func (s *Source) unsure(e ftpexec.Entry) bool {
	near := func(t time.Time) bool { return e.ModTime.Sub(t).Abs() < 48*time.Hour }
	return e.ModTime.IsZero() || e.YearGuessed || (e.Local || e.Precision > time.Second) &&
		(near(s.NewerThan) || near(s.OlderThan) || s.MinAge > 0 && near(time.Now().Add(-s.MinAge)))
}

// wants reports whether a file is old and new enough. A file of unknown time may still be being written.
func (s *Source) wants(e ftpexec.Entry) bool {
	wanted := s.ages(e.ModTime)
	if !wanted {
		s.left.Add(1)
	}
	return wanted
}

// ages reports whether a time is old and new enough.
func (f Filter) ages(t time.Time) bool {
	young := f.matures() && t.IsZero() || f.MinAge > 0 && time.Since(t) < f.MinAge ||
		!f.OlderThan.IsZero() && !t.Before(f.OlderThan)
	old := !t.IsZero() && t.Before(f.NewerThan.Truncate(time.Second))
	return !young && !old
}

// Hides reports whether s has left out a name of the directory dir, or would leave out a file like the one here: for
// [download.RunOptions].Hides.
func (s *Source) Hides(dir *urlparse.URL, name string, here fs.FileInfo) bool {
	s.mu.Lock()
	_, listed := s.seen[key(dir.Key(), name)]
	s.mu.Unlock()
	return listed || s.MaxSize > 0 && here.Size() > s.MaxSize || !s.ages(here.ModTime())
}

// see remembers an entry of the directory whose key is in, unless s Forgets.
func (s *Source) see(in, name string) {
	if s.Forgets {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen, s.witness = make(map[uint64]struct{}), make(map[int]*urlparse.URL)
	}
	s.seen[key(in, name)] = struct{}{}
}

// listed remembers a directory that was listed whole, and as a witness one of its files, if it has any, unless s Forgets.
func (s *Source) listed(in string, file *urlparse.URL) {
	if s.Forgets {
		return
	}
	s.see(in, ".")
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, t := range s.Trees {
		if file != nil && strings.HasPrefix(in, top(t).Key()) {
			s.witness[i] = file
		}
	}
}

// top returns the directory of a tree.
func top(t download.Task) *urlparse.URL { return t.URLs[0].Child("", "") }

var seed = maphash.MakeSeed()

// key returns the key of a name in the directory whose key is in.
func key(in, name string) uint64 { return maphash.String(seed, in+name) }
