package download

import (
	"context"
	"io/fs"
	"slices"
	"sync"

	"example.com/ftpfetch/download/internal/decide"
	"example.com/ftpfetch/urlparse"
)

// mostAhead is how many files of a list a file asks about ahead.
const mostAhead = 63

// ahead has the files of a list about which a server is asked before their turn. The zero value is ready.
type ahead struct {
	mu    sync.Mutex
	files map[*job]*foretold
}

// foretold is what a server says of a file before its turn.
type foretold struct {
	job  *job
	url  *urlparse.URL // the one that was the job's when it was queued
	come chan struct{} // closed when the server has answered, or will not
	said *decide.Stamp // nil if the server was not asked, or refused; its values may be unknown
}

// take returns what is foretold of a file whose turn has come, or nil if no other file asks about it.
func (a *ahead) take(j *job) *foretold {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.files[j]
	delete(a.files, j)
	return x
}

// add returns what will be foretold of a queued file, which the caller must close. It returns nil if another file asks about it.
func (a *ahead) add(j *job) *foretold {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.files[j] != nil {
		return nil
	}
	if a.files == nil {
		a.files = make(map[*job]*foretold)
	}
	x := &foretold{job: j, url: j.url(), come: make(chan struct{})}
	a.files[j] = x
	return x
}

// said waits for what the server says of the file if another file has asked about it.
func (m *member) said() *decide.Stamp {
	x := m.foretold
	m.foretold = nil
	if x == nil {
		return nil
	}
	select {
	case <-x.come:
		return x.said
	case <-m.ctx.Done():
		return nil
	}
}

// askAhead asks the server, which has just answered about the file, about those that follow it in a list and about which
// it will be asked too, in a few round trips. A file for which that fails is asked about in its own turn. askAhead does
// nothing for a plain Source, with a Timeout, or for the files of a tree, which sharpen asks about.
func (m *member) askAhead(ctx context.Context) {
	b := m.run
	if _, single := b.src.(plain); single || m.job.in != nil || b.Timeout != 0 || b.root == nil {
		return
	}
	asked := m.pick()
	defer func() {
		for _, x := range asked {
			close(x.come)
		}
	}()
	if len(asked) == 0 {
		return
	}
	var urls []*urlparse.URL
	for _, x := range asked {
		urls = append(urls, x.url)
	}
	for e, err := range b.src.StatAll(ctx, urls) {
		if len(asked) == 0 {
			break
		}
		x := asked[0]
		asked = asked[1:]
		if err == nil && !e.Mode.IsDir() {
			x.said = &decide.Stamp{Size: e.Size, Time: e.ModTime}
		}
		close(x.come)
	}
}

// pick returns the queued files of the list about which the server will be asked, and which no other file
// asks about.
func (m *member) pick() []*foretold {
	var all []*foretold
	m.turn.Queued(mostAhead, func(j *job) bool {
		if j.in != nil || j.dir != nil || j.Writer != nil || !j.url().SameLogin(m.job.url()) {
			return false
		}
		x := m.run.ahead.add(j)
		if x != nil {
			all = append(all, x)
		}
		return x != nil
	})
	return slices.DeleteFunc(all, func(x *foretold) bool {
		asks := m.run.willAsk(x.job)
		if !asks {
			close(x.come)
		}
		return !asks
	})
}

// willAsk reports whether the server will probably be asked about a file of a list.
func (b *engine) willAsk(j *job) bool {
	if j.Sum.Algorithm != "" { // which decides
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
