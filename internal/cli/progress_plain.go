package cli

import (
	"fmt"
	"sync"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/printable"
)

// lineInterval is the least time between two lines about one transfer.
const lineInterval = 10 * time.Second

// lineMeter prints plain lines: one every lineInterval and one at the end.
type lineMeter struct {
	print *printer
	name  string
	start time.Time

	mu    sync.Mutex
	shown time.Time
	speed speed
}

func newLineMeter(p *printer, name string) *lineMeter {
	now := p.now()
	return &lineMeter{print: p, name: name, start: now, shown: now}
}

func (m *lineMeter) update(done, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.print.now()
	m.speed.update(done, now)
	if now.Sub(m.shown) >= lineInterval {
		m.shown = now
		m.print.line("%s: %s", printable.Line(m.name), progressText(done, total, &m.speed))
	}
}

// progressText describes how far a transfer is: bytes, percentage, rate and, if
// known, the time left.
func progressText(done, total int64, s *speed) string {
	text := bytesOf(done) + " so far"
	if total > 0 {
		text = fmt.Sprintf("%d of %d bytes (%d%%)", done, total, percent(done, total))
	}
	text += ", " + binary(s.rate) + "/s"
	if left := s.left(done, total); left >= 0 {
		text += ", " + clockTime(left) + " left"
	}
	return text
}

// percent rounds down, so that 100 means all.
func percent(done, total int64) int64 { return int64(float64(done) / float64(total) * 100) }

func (m *lineMeter) event(e download.Event) { m.print.happened(m.name, e) }

func (m *lineMeter) end(done download.Result, err error) {
	switch {
	case err != nil:
	case done.Skipped:
		m.print.skipped(m.name, done)
	default:
		m.print.transferred(m.name, done, m.print.now().Sub(m.start))
	}
}
