package cli

import (
	"math"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// lineDelay is how old one of many files is when it gets a line. Small files get
// none: the screen would flicker.
const lineDelay = 300 * time.Millisecond

// passingLine adds a line of text below all those with a lower priority. It goes
// when its bar is complete or aborted.
func (p *printer) passingLine(priority int, text func(width int) string) *mpb.Bar {
	// The echo of Ctrl-C moves the cursor, so each redraw returns to column 1.
	show := decor.Any(func(s decor.Statistics) string { return "\r" + text(s.AvailableWidth) })
	return tell(p, func() *mpb.Bar {
		return p.bars.add(p.err.w, mpb.NopStyle(), mpb.PrependDecorators(show), mpb.BarPriority(priority),
			mpb.BarFillerTrim(), mpb.BarNoPop(), mpb.BarRemoveOnComplete())
	})
}

// drawLine adds the line for one of many files.
func (m *barMeter) drawLine() {
	m.bar = m.print.passingLine(math.MaxInt16, func(width int) string {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.line(width)
	})
}

// line returns, for example, "name.tar.gz   1.0 MiB / 2.0 MiB   50 %  1.0 MiB/s  0:01", in width columns.
// The columns stand below each other. Where there is little room the name is cut in the
// middle, because names often differ at an end.
func (m *barMeter) line(width int) string {
	const leastName, amountColumn, paceColumn = 10, 24, 29
	facts := m.pace()
	facts += strings.Repeat(" ", max(0, paceColumn-runewidth.StringWidth(facts)))
	if width >= leastName+amountColumn+paceColumn {
		facts = pad(m.amount(), amountColumn) + facts
	}
	room := max(leastName, min(width-runewidth.StringWidth(facts)-1, 60))
	return strings.TrimRight(runewidth.Truncate(runewidth.FillRight(middle(m.label, room), room)+" "+facts, max(width, 0), ""), " ")
}

// middle cuts s in the middle to at most n columns.
func middle(s string, n int) string {
	if runewidth.StringWidth(s) <= n {
		return s
	}
	const mark = "..."
	head := runewidth.Truncate(s, (n-len(mark)+1)/2, "")
	return head + mark + runewidth.TruncateLeft(s, runewidth.StringWidth(s)-(n-len(mark)-runewidth.StringWidth(head)), "")
}
