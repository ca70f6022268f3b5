package cli

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/printable"
)

// lineDelay is how old a transfer is when it gets a line. Small files get none: the
// screen would flicker.
const lineDelay = 300 * time.Millisecond

// barMeter shows a transfer in a line at the bottom of the terminal: at first what
// it waits for, then how far it is. The line goes when the transfer has ended.
type barMeter struct {
	print       *printer
	name, label string
	host        string
	one         bool // of many files
	line        *passingLine

	mu          sync.Mutex
	began       time.Time
	flows       bool // data has begun to flow
	done, total int64
	retries     int
	speed       speed
}

func newBarMeter(p *printer, t transfer, label string, one bool) *barMeter {
	m := &barMeter{print: p, name: t.name, label: printable.Line(label), host: t.host, one: one, began: p.now()}
	m.line = &passingLine{priority: math.MaxInt16, text: m.text}
	p.lines.add(p.err.w, m.line)
	return m
}

func (m *barMeter) update(done, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.print.now()
	if !m.flows && m.one {
		m.began = now
	}
	m.flows, m.done, m.total = true, done, total
	m.speed.update(done, now)
}

// text returns the line for a terminal of this width.
func (m *barMeter) text(width int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.print.now().Sub(m.began) < lineDelay:
		return ""
	case m.flows:
		return m.figures(width)
	case m.one:
		return ""
	}
	return runewidth.Truncate(m.print.position()+m.host+": "+m.print.waits.text(), width, "")
}

// figures returns, for example, "name.tar.gz   1.0 MiB / 2.0 MiB   50 %  1.0 MiB/s  0:01", in width columns.
// The figures of many files stand below each other; one file has a bar before them. The
// name is cut in the middle, because names often differ at an end.
func (m *barMeter) figures(width int) string {
	const leastName, mostName, amountColumn, paceColumn = 10, 60, 24, 29
	facts := m.pace()
	facts += strings.Repeat(" ", max(0, paceColumn-runewidth.StringWidth(facts)))
	if width >= leastName+amountColumn+runewidth.StringWidth(facts) {
		facts = pad(m.amount(), amountColumn) + facts
	}
	room := max(0, width-runewidth.StringWidth(facts)-1)
	name := m.label
	if m.one {
		room = min(room, mostName)
		name = runewidth.FillRight(middle(name, room), room)
	} else {
		name = middle(m.print.position()+name, room)
		name += m.graph(room - runewidth.StringWidth(name))
	}
	return strings.TrimRight(runewidth.Truncate(name+" "+facts, max(width, 0), ""), " ")
}

// graph returns, for example, " [=====>----]", in room columns, or nothing if that is
// too little.
func (m *barMeter) graph(room int) string {
	room -= len(" []")
	if m.total <= 0 || room < 5 {
		return ""
	}
	full := min(room, int(float64(room)*float64(m.done)/float64(m.total)))
	if full == room {
		return " [" + strings.Repeat("=", room) + "]"
	}
	return " [" + strings.Repeat("=", full) + ">" + strings.Repeat("-", room-full-1) + "]"
}

// amount returns, for example, "1.0 MiB / 2.0 MiB ".
func (m *barMeter) amount() string {
	if m.total <= 0 {
		return binary(float64(m.done)) + " "
	}
	return binary(float64(m.done)) + " / " + binary(float64(m.total)) + " "
}

// pace returns, for example, " 50 %  1.0 MiB/s  0:01  try 2".
func (m *barMeter) pace() string {
	text := ""
	if m.total > 0 {
		text = pad(strconv.FormatInt(percent(m.done, m.total), 10), 4) + " %"
	}
	text += pad(binary(m.speed.rate), 12) + "/s"
	if left := m.speed.left(m.done, m.total); left >= 0 {
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
		m.print.waits.anew()
	}
	m.print.happened(m.name, e)
}

// end removes the line. For one file it says how the transfer ended, unless it failed:
// the error is reported later.
func (m *barMeter) end(done download.Result, err error) {
	m.print.removeLine(m.line)
	switch {
	case err != nil:
	case done.Skipped:
		m.print.skipped(m.name, done)
	case !m.one:
		m.print.transferred(m.name, done, m.print.now().Sub(m.began))
	}
}

// pad returns s with spaces before it, n characters or more.
func pad(s string, n int) string {
	for len(s) < n {
		s = " " + s
	}
	return s
}

// middle cuts s in the middle to at most n columns.
func middle(s string, n int) string {
	const mark = "..."
	switch width := runewidth.StringWidth(s); {
	case width <= n:
		return s
	case n <= len(mark):
		return runewidth.Truncate(s, n, "")
	}
	head := runewidth.Truncate(s, (n-len(mark)+1)/2, "")
	return head + mark + runewidth.TruncateLeft(s, runewidth.StringWidth(s)-(n-len(mark)-runewidth.StringWidth(head)), "")
}
