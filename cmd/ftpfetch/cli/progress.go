package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// meter shows how a transfer comes on. update may come from another goroutine,
// but never after end was called.
type meter interface {
	update(done, total int64) // octets; total -1 where it is unknown
	end(size int64, ok bool)
}

// newMeter chooses the meter for a transfer called name. toTerminal says that
// the data itself goes to the terminal, where a meter would garble it.
func (p *printer) newMeter(name string, toTerminal bool) meter {
	switch {
	case p.quiet || toTerminal:
		return noMeter{}
	case p.errTerminal && !p.verbose:
		return &barMeter{out: p.err, name: shorten(escape(filepath.Base(name)), 30)}
	}
	now := p.now()
	return &lineMeter{print: p, name: name, start: now, last: now}
}

type noMeter struct{}

func (noMeter) update(int64, int64) {}
func (noMeter) end(int64, bool)     {}

// lineInterval is the time between two lines about one transfer.
const lineInterval = 10 * time.Second

// lineMeter prints plain lines: one in a while, and one at the end.
type lineMeter struct {
	print       *printer
	name        string
	start, last time.Time
}

func (m *lineMeter) update(done, total int64) {
	if now := m.print.now(); now.Sub(m.last) >= lineInterval {
		m.last = now
		m.print.transferring(m.name, done, total)
	}
}

func (m *lineMeter) end(size int64, ok bool) {
	if ok {
		m.print.transferred(m.name, size, m.print.now().Sub(m.start))
	}
}

// barMeter draws a bar, from the first octet on: before that a password may be
// asked for on the same terminal.
type barMeter struct {
	out      io.Writer
	name     string
	progress *mpb.Progress
	bar      *mpb.Bar
}

func (m *barMeter) update(done, total int64) {
	if m.bar == nil {
		m.progress = mpb.New(mpb.WithOutput(m.out), mpb.WithAutoRefresh())
		m.bar = m.newBar(total)
	}
	m.bar.SetCurrent(done)
}

// newBar lays the line out: name, octets, bar, percentage, rate, time left;
// without what needs the total where that is unknown.
func (m *barMeter) newBar(total int64) *mpb.Bar {
	// The echo of Ctrl-C moves the cursor: each time the line starts at its begin.
	name, rate := decor.Name("\r"+m.name+" "), rate(time.Now())
	if total <= 0 {
		return m.progress.New(0, mpb.NopStyle(),
			mpb.PrependDecorators(name, decor.CurrentKibiByte("% .1f")), mpb.AppendDecorators(rate))
	}
	return m.progress.New(total, mpb.BarStyle(),
		mpb.PrependDecorators(name, decor.CountersKibiByte("% .1f / % .1f ")),
		mpb.AppendDecorators(decor.Percentage(decor.WCSyncSpace), rate,
			decor.OnComplete(decor.AverageETA(decor.ET_STYLE_MMSS, decor.WC{W: 6}), "")))
}

// rate shows octets a second since start; it stands still when the bar is
// complete.
func rate(start time.Time) decor.Decorator {
	last := ""
	return decor.Any(func(s decor.Statistics) string {
		if last == "" || !s.Completed {
			seconds := max(time.Since(start).Seconds(), 0.001)
			last = fmt.Sprintf("  % .1f/s", decor.SizeB1024(float64(s.Current)/seconds))
		}
		return last
	})
}

// end leaves the finished bar standing, or takes an unfinished one away.
func (m *barMeter) end(size int64, ok bool) {
	if m.bar == nil {
		return
	}
	if ok {
		m.bar.SetCurrent(size)
		m.bar.SetTotal(size, true)
	} else {
		m.bar.Abort(true)
	}
	m.progress.Wait()
}

// shorten cuts s to at most n characters.
func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-3]) + "..."
	}
	return s
}
