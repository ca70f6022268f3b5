package download

import (
	"context"
	"io/fs"
	"sync"

	"example.com/ftpfetch/download/internal/decide"
	"example.com/ftpfetch/urlparse"
)

// mostAhead is how many files of a list a file asks about ahead.
const mostAhead = 63

// ahead has what servers have said of files whose turn comes later. It has nil for a file that a server is asked about.
// The zero value is ready.
type ahead struct {
	mu   sync.Mutex
	said map[*job]*decide.Stamp
}

// take returns what a server has said of a file, or nil, and forgets it.
func (a *ahead) take(j *job) *decide.Stamp {
	a.mu.Lock()
	defer a.mu.Unlock()
	said := a.said[j]
	delete(a.said, j)
	return said
}

// claim reports whether the caller is the first to ask about a file.
func (a *ahead) claim(j *job) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, asked := a.said[j]
	if asked {
		return false
	}
	if a.said == nil {
		a.said = make(map[*job]*decide.Stamp)
	}
	a.said[j] = nil
	return true
}

// put keeps what a server says of a file, unless the file has had its turn meanwhile.
func (a *ahead) put(j *job, said decide.Stamp) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, waits := a.said[j]; waits {
		a.said[j] = &said
	}
}

// said returns what the server has said of the file before its turn.
func (m *member) said() *decide.Stamp {
	said := m.answer
	m.answer = nil
	return said
}

// askAhead asks the server, which has just answered about the file, about those that follow it in a list and about which
// it will be asked too, in a few round trips. A file for which that brings nothing is asked about in its own turn.
func (m *member) askAhead(ctx context.Context) {
	b := m.run
	if m.job.in != nil || b.Timeout != 0 {
		return
	}
	var files []*job
	var urls []*urlparse.URL
	for _, j := range m.turn.Queued(mostAhead) {
		if b.willAsk(j) && j.url().SameLogin(m.job.url()) && b.ahead.claim(j) {
			files = append(files, j)
			urls = append(urls, j.url())
		}
	}
	for e, err := range b.src.StatAll(ctx, urls) {
		if err == nil && !e.Mode.IsDir() {
			b.ahead.put(files[0], decide.Stamp{Size: e.Size, Time: e.ModTime})
		}
		files = files[1:]
	}
}

// willAsk reports whether the server will probably be asked about a file of a list.
func (b *engine) willAsk(j *job) bool {
	if j.in != nil || j.dir != nil || j.Writer != nil || b.root == nil || j.Sum.Algorithm != "" {
		return false
	}
	info, err := b.root.Lstat(j.Path)
	if err != nil {
		return b.willAskAbsent(j)
	}
	return info.Mode().IsRegular() && b.willCompare(j, info)
}

// willAskAbsent reports whether the server will be asked about a file that is not here: whether it is still the one that
// an earlier run has fetched, or how large it is, for a dry run.
func (b *engine) willAskAbsent(j *job) bool {
	if b.Once {
		if before, ok := b.ledger.Last(j.Path); ok && before.Size >= 0 {
			return true
		}
	}
	return b.Dry && j.Size == nil
}

// willCompare reports whether the file that is here will be compared with the server's.
func (b *engine) willCompare(j *job, info fs.FileInfo) bool {
	if b.compares() || b.Once {
		return true
	}
	known := false
	if b.ledger != nil {
		_, known = b.ledger.Find(j.Path, info)
	}
	return !known && b.Each.Existing != Skip && b.Each.Existing != Overwrite
}
