package cli

import (
	"path/filepath"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// display is what is shown.
type display struct {
	verbose, quiet bool
	progress       progressMode
}

// progressMode is how transfers are shown: the value of --progress.
type progressMode string

const (
	progressAuto  progressMode = "" // also written auto
	progressBar   progressMode = "bar"
	progressPlain progressMode = "plain"
	progressJSON  progressMode = "json"
	progressNone  progressMode = "none"
)

// meter shows the progress of one transfer. It is safe for concurrent use,
// except that end comes last.
type meter interface {
	update(done, total int64) // bytes of the file; total is -1 if it is unknown
	event(download.Event)
	end(download.Result, error)
}

// transfer says what a meter shows: the URL with its password hidden, the path
// of the file or "-" for standard output, and the name for people.
type transfer struct{ url, path, name, host string }

func newTransfer(u *urlparse.URL, path string) transfer {
	t := transfer{url: u.Redacted(), path: path, name: path, host: printable.Line(u.Host)}
	if path == "-" {
		t.name = u.Name
	}
	return t
}

// newMeter returns the meter for a transfer. toTerminal says that the data goes
// to the terminal, where a meter would garble it.
func (p *printer) newMeter(t transfer, toTerminal bool) meter {
	switch mode := p.mode(toTerminal); mode {
	case progressJSON:
		return newJSONMeter(p, t)
	case progressBar:
		return newBarMeter(p, t, filepath.Base(t.name), false)
	case progressPlain:
		return newLineMeter(p, t.name)
	}
	return noMeter{print: p, name: t.name}
}

// mode applies -q and resolves auto.
func (p *printer) mode(toTerminal bool) progressMode {
	switch {
	case p.quiet:
		return progressNone
	case p.progress == progressBar && !draws(p.err.w):
		return progressPlain
	case p.progress != progressAuto:
		return p.progress
	case toTerminal:
		return progressNone
	case p.err.terminal && !p.verbose && draws(p.err.w):
		return progressBar
	}
	return progressPlain
}

// show passes an event to m.
func show(m meter, e download.Event) {
	switch e.Kind {
	case download.Progress:
		m.update(e.Done, e.Total)
	case download.Arrived:
	default:
		m.event(e)
	}
}

// noMeter reports only that a file was left alone.
type noMeter struct {
	print *printer
	name  string
}

func (noMeter) update(int64, int64)  {}
func (noMeter) event(download.Event) {}

func (m noMeter) end(done download.Result, err error) {
	if err == nil && done.Skipped {
		m.print.skipped(m.name, done)
	}
}

// happened prints an event as a line for people.
func (p *printer) happened(name string, e download.Event) {
	if e.Kind != download.Retrying {
		p.line("%s: %s", printable.Line(name), oneLine(e.Text))
		return
	}
	p.line("%s: %s; trying again in %.1f s (%d of %d)",
		printable.Line(name), oneLine(describe(e.Err)), e.Wait.Seconds(), e.Try, e.Tries)
}
