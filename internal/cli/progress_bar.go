package cli

import (
	"io"
	"math"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/printable"
)

// barStack holds the bars on the terminal. Lines written meanwhile appear above
// them. The methods may block on the terminal: call them only in tell.
type barStack struct {
	mu       sync.Mutex
	progress *mpb.Progress // nil: no bars
	bars     atomic.Int32
}

// take takes a line for a bar that is going to be added, if out is no terminal or
// has room. It does not block.
func (s *barStack) take(out io.Writer) bool {
	most := math.MaxInt32
	if f, ok := out.(*os.File); ok {
		if _, height, err := term.GetSize(int(f.Fd())); err == nil {
			most = max(1, height-2) // one is for the cursor, one for what was there before
		}
	}
	if int(s.bars.Add(1)) <= most {
		return true
	}
	s.bars.Add(-1)
	return false
}

// refresh is the time from one drawing of the bars to the next. A bar goes after two
// of them, and must have gone within lastWords when the run is interrupted.
const refresh = 75 * time.Millisecond

// add adds a bar below the others. Its line has been taken.
func (s *barStack) add(out io.Writer, filler mpb.BarFillerBuilder, options ...mpb.BarOption) *mpb.Bar {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.progress == nil {
		s.progress = mpb.New(mpb.WithOutput(out), mpb.WithAutoRefresh(), mpb.PopCompletedMode(), mpb.WithRefreshRate(refresh))
	}
	// The total is 0 at first and set later: reaching it is not yet success.
	return s.progress.New(0, filler, options...)
}

// remove removes a bar that is complete or aborted. For the last one it waits
// until the terminal shows that.
func (s *barStack) remove() (none struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bars.Add(-1) == 0 {
		s.progress.Wait()
		s.progress = nil
	}
	return none
}

// write writes a line above the bars, or to out if there are none.
func (s *barStack) write(out io.Writer, line string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.progress != nil {
		if _, err := io.WriteString(s.progress, "\r"+line); err == nil {
			return nil
		}
	}
	_, err := io.WriteString(out, line)
	return err
}

// barMeter draws a bar from the first byte on: before that the same terminal may
// show a password prompt.
type barMeter struct {
	print       *printer
	name, label string
	one         bool // of many files: one line of text, which goes when the file has ended

	drawn sync.Once
	bar   *mpb.Bar // set by drawn; nil if the terminal is blocked

	mu          sync.Mutex
	placed      bool // it has a line
	done, total int64
	retries     int
	speed       speed
	ended       bool
}

func (m *barMeter) update(done, total int64) {
	m.mu.Lock()
	m.done, m.total = done, total
	now := m.print.now()
	m.speed.update(done, now)
	if soon := m.one && now.Sub(m.speed.began) < lineDelay; !m.placed && !soon {
		m.placed = m.print.bars.take(m.print.err.w)
	}
	placed := m.placed
	m.mu.Unlock()
	if placed {
		m.drawn.Do(func() { m.draw(total) })
	}
	if m.bar != nil {
		m.bar.SetTotal(max(total, 0), false)
		m.bar.SetCurrent(done)
	}
}

// draw adds the line: name, bytes, bar, percentage, rate, time left. If the
// total is unknown there is no bar. The decorators lock m.mu, so draw must be
// called without it.
func (m *barMeter) draw(total int64) {
	if m.one {
		m.drawLine()
		return
	}
	var filler mpb.BarFillerBuilder = mpb.BarStyle()
	if total <= 0 {
		filler = mpb.NopStyle()
	}
	// The echo of Ctrl-C moves the cursor, so each redraw returns to column 1.
	name := decor.Name("\r" + m.label + " ")
	m.bar = tell(m.print, func() *mpb.Bar {
		return m.print.bars.add(m.print.err.w, filler,
			mpb.PrependDecorators(name, m.show((*barMeter).amount)), mpb.AppendDecorators(m.show((*barMeter).pace)))
	})
}

// show returns a decorator that calls text under the meter's lock.
func (m *barMeter) show(text func(*barMeter) string) decor.Decorator {
	return decor.Any(func(decor.Statistics) string {
		m.mu.Lock()
		defer m.mu.Unlock()
		return text(m)
	})
}

// amount returns, for example, "1.0 MiB / 2.0 MiB ".
func (m *barMeter) amount() string {
	if m.total <= 0 {
		return binary(float64(m.done)) + " "
	}
	return binary(float64(m.done)) + " / " + binary(float64(m.total)) + " "
}

// pace returns, for example, " 50 %  1.0 MiB/s  0:01  try 2". At the end the
// rate is the average.
func (m *barMeter) pace() string {
	text := ""
	if m.total > 0 {
		text = pad(strconv.FormatInt(percent(m.done, m.total), 10), 4) + " %"
	}
	rate := m.speed.rate
	if m.ended {
		rate = m.speed.average(m.done, m.print.now())
	}
	text += pad(binary(rate), 12) + "/s"
	if left := m.speed.left(m.done, m.total); left >= 0 && !m.ended {
		text += pad(clockTime(left), 8)
	}
	if m.retries > 0 {
		text += "  try " + strconv.Itoa(m.retries+1)
	}
	return text
}

func (m *barMeter) event(e download.Event) {
	if e.Kind == download.Retrying {
		m.mu.Lock()
		m.retries++
		m.mu.Unlock()
	}
	m.print.happened(m.name, e)
}

// end leaves the bar on the terminal in its last state.
func (m *barMeter) end(done download.Result, err error) {
	if err == nil && done.Skipped {
		m.print.skipped(m.name, done)
	}
	m.mu.Lock()
	m.ended = true
	if err == nil {
		m.done = done.Size
		if m.total > 0 {
			m.total = done.Size
		}
	}
	m.mu.Unlock()
	switch {
	case m.bar == nil:
		return
	case err == nil:
		m.bar.SetCurrent(done.Size)
		m.bar.SetTotal(done.Size, true)
	default:
		m.bar.Abort(m.one)
	}
	tell(m.print, m.print.bars.remove)
	if err == nil && done.Verified != "" {
		m.print.line("%s: verified: %s", printable.Line(m.name), oneLine(done.Verified))
	}
}

// pad returns s with spaces before it, n characters or more.
func pad(s string, n int) string {
	for len(s) < n {
		s = " " + s
	}
	return s
}

// shorten returns s cut to at most n characters.
func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-3]) + "..."
	}
	return s
}
