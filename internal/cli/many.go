package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime/debug"
	"sync"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/urlparse"
)

// batch retrieves lists and trees, and several URLs at once. It returns the exit
// code of the first failure.
func (r *run) batch(ctx context.Context) int {
	defer debug.SetGCPercent(debug.SetGCPercent(collectAt))
	m := &many{run: r, ctx: ctx}
	if code := m.gather(); code != exitOK {
		return code
	}
	defer m.forget()
	switch {
	case r.DryRun:
		return m.plans()
	case r.Info:
		r.fence(ctx, m.lists)
		return cmp.Or(r.infos(ctx, m.urls()), m.code)
	}
	if err := m.open(); err != nil {
		r.print.Failed("", err, "")
		return exitCode(err)
	}
	defer m.close()
	r.fence(ctx, m.lists)
	r.Client.MaxIdle = cmp.Or(r.PerHost, r.Jobs, batch.MaxJobs)
	defer r.source.CloseIdleConnections()
	m.retrieve()
	return m.code
}

// collectAt is the GOGC of a run of many files: its heap is a fixed list of a few
// bytes a file and little else, which is worth being collected early.
const collectAt = 50

// many is a run of many files.
type many struct {
	*run
	ctx    context.Context
	lists  []*list
	root   *os.Root
	ledger *batch.Ledger
	rows   *os.File // of the report
	shown  *show.Run

	mu   sync.Mutex
	code int   // the exit code
	lost int64 // URLs that were not even tried
}

// fails makes err the first failure, if there was none.
func (m *many) fails(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.code == exitOK {
		m.code = exitCode(err)
	}
}

// open opens the output directory, its ledger and the report.
func (m *many) open() (err error) {
	dir := m.outputDir()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return localError(dir, "cannot be created", err)
	}
	if m.root, err = os.OpenRoot(dir); err != nil {
		return localError(dir, "cannot be opened", err)
	}
	name := batch.LedgerName
	if shard := m.Reading.Shard; shard.Count > 0 {
		name += fmt.Sprintf("-%d-of-%d", shard.Index, shard.Count)
	}
	if m.ledger, err = batch.OpenLedger(m.root, name); err != nil {
		return err
	}
	if n := len(m.ledger.Ignored); n > 0 {
		m.print.Warning(fmt.Sprintf("%s (%d in all) is ignored: not a regular file that only this user may write", m.ledger.Ignored[0], n))
	}
	if m.Report == "" {
		return nil
	}
	if why := m.reportMeets(); why != "" {
		return &download.Error{Path: m.Report, Reason: why + ": write another name for --report", Err: download.ErrLocal}
	}
	if m.rows, err = os.Create(m.Report); err == nil {
		_, err = m.rows.WriteString(reportHead(m.Report))
	}
	return localError(m.Report, "cannot be written", err)
}

// sameFile reports whether two paths lead to the same file.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// close closes what open has opened.
func (m *many) close() {
	if m.rows != nil {
		if err := m.rows.Close(); err != nil {
			err = localError(m.Report, "cannot be written", err)
			m.print.Failed("", err, "")
			m.fails(err)
		}
	}
	m.ledger.Close()
	m.root.Close()
}

// retrieve fetches everything.
func (m *many) retrieve() {
	m.shown = m.print.Run(m.known())
	totals := batch.Run(m.ctx, m.source, m.tasks(), batch.Options{
		Jobs: m.Jobs, PerHost: m.PerHost, Root: m.root, Ledger: m.ledger, Each: m.File, Timeout: m.MaxTime, Events: m.event,
		Mixed: len(m.lists)+len(m.Targets) > 1,
	})
	totals.Files, totals.Failed = totals.Files+m.lost, totals.Failed+m.lost
	if m.ctx.Err() != nil {
		err := m.reason(m.ctx, context.Cause(m.ctx))
		m.print.Failed("", err, "; the same command fetches the rest")
		m.code = exitCode(err)
	} else if !totals.Whole() && m.code == exitOK {
		m.code = exitOther
	}
	m.shown.End(totals)
}

// event takes an event of the run.
func (m *many) event(e batch.Event) {
	if e.Kind == batch.Ended {
		m.ended(&e)
	}
	m.shown.Event(e)
}

// ended takes the end of a task, and explains its failure.
func (m *many) ended(e *batch.Event) {
	if errors.Is(e.Err, ftpexec.ErrLogin) {
		m.ask.forget()
	}
	e.Err = m.hintFailure(m.ctx, e.URL, m.reason(m.ctx, e.Err))
	m.fails(e.Err)
	if m.rows != nil {
		if _, err := m.rows.Write(reportRow(m.Report, *e)); err != nil {
			m.fails(localError(m.Report, "cannot be written", err))
		}
	}
}

// plans prints what would be sent for each file.
func (m *many) plans() int {
	for t := range m.tasks() {
		if err := m.plan(t.URLs[0]); err != nil {
			m.print.Failed(t.URLs[0].Redacted(), err, "")
			m.fails(err)
		}
		if m.ctx.Err() != nil {
			break
		}
	}
	return m.code
}

// urls yields the first URL of each file.
func (m *many) urls() iter.Seq[*urlparse.URL] {
	return func(yield func(*urlparse.URL) bool) {
		for _, t := range m.Targets {
			if u, err := m.complete(m.ctx, t); err != nil {
				m.print.Failed(t.URL.Redacted(), err, "")
				m.fails(err)
			} else if !yield(u) {
				return
			}
		}
		for t := range m.listed() {
			if !yield(t.URLs[0]) {
				return
			}
		}
	}
}

// outputDir returns the directory under which everything is saved.
func (m *many) outputDir() string {
	if m.Dir != "" {
		return m.Dir
	}
	return "."
}

// tasks yields what to retrieve: the files of the lists, of which most is known,
// then the URLs of the command line.
func (m *many) tasks() iter.Seq[batch.Task] {
	return func(yield func(batch.Task) bool) {
		for t := range m.listed() {
			if !yield(t) {
				return
			}
		}
		for _, t := range m.named() {
			if !yield(t) {
				return
			}
		}
	}
}

// loses records a URL that cannot even be tried.
func (m *many) loses(what string, err error) {
	m.lost++
	m.print.Failed(what, err, "")
	m.fails(err)
}

// listed yields the files of the lists.
func (m *many) listed() iter.Seq[batch.Task] {
	return func(yield func(batch.Task) bool) {
		for _, l := range m.lists {
			n := 0
			for item, err := range l.items() {
				n++
				if err == nil {
					err = m.completeAll(item.URLs)
				}
				if errors.Is(err, download.ErrLocal) { // nothing more can be read
					m.lost += int64(l.summary.Items - n)
					n = l.summary.Items
				}
				if err != nil {
					m.loses(l.name, err)
				} else if !yield(batch.Task{Item: item}) {
					return
				}
			}
			if n < l.summary.Items {
				m.loses("", errShorter(l.name))
			}
		}
	}
}

// completeAll adds to URLs what they leave open and the flags give.
func (m *many) completeAll(urls []*urlparse.URL) error {
	for _, u := range urls {
		if _, err := m.complete(m.ctx, config.Target{URL: u}); err != nil {
			return err
		}
	}
	return nil
}
