package show

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"example.com/ftpfetch/internal/printable"
)

// rowDelay is how old a transfer is when it gets a row. Small files get none: the screen would flicker.
const rowDelay = 300 * time.Millisecond

// rows returns the rows for a terminal of this size: one for each file and one for all of them, which stays where there is
// not room for all. Before data flows the last one shows the end of the dialogue.
func (r *Run) rows(width, height int) (rows []string) {
	now := r.p.now()
	for _, f := range r.files {
		switch {
		case r.lone && now.Sub(f.made) < rowDelay:
		case r.lone && f.began.IsZero():
			rows = append(rows, runewidth.Truncate(printable.Line(f.task.URLs[0].Host)+": "+cmp.Or(r.p.said, "connecting"), width, ""))
		case r.lone || !f.began.IsZero() && now.Sub(f.began) >= rowDelay:
			rows = append(rows, f.row(width))
		}
	}
	if !r.lone && now.Sub(r.began) >= rowDelay {
		rows = append(rows, r.row(width))
	}
	if most := max(1, height-2); len(rows) > most { // one is for the cursor, one for what was there before
		rows = append(rows[:most-1], rows[len(rows)-1])
	}
	return rows
}

// row returns as many parts as fit into width.
func (r *Run) row(width int) string {
	parts := r.parts()
	if r.received == 0 && r.totals.Complete == 0 {
		parts = append(parts[:1], cmp.Or(r.p.said, "connecting"))
	}
	for len(parts) > 1 && runewidth.StringWidth(strings.Join(parts, ", ")) > width {
		parts = parts[:len(parts)-1]
	}
	return runewidth.Truncate(strings.Join(parts, ", "), width, "")
}

// parts returns, for example, "3 of 8 files", "1 failed", "0:40 left", "1.0 MiB/s" and "1.2 GiB of 3.0 GiB", the most
// important first.
func (r *Run) parts() []string {
	files, octets := r.of()
	parts := []string{fmt.Sprintf("%d of %d files", r.totals.Complete, files)}
	if r.totals.Listing > 0 {
		parts[0] += " or more"
	}
	if n := r.totals.Failed + r.totals.Unlisted; n > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", n))
	}
	return append(parts, r.speed.parts(r.done, octets)...)
}

// row returns, for example, "name.tar.gz [==>--]   1.0 MiB / 2.0 MiB   50 %  1.0 MiB/s  0:01", in width columns. The
// figures of several files stand below each other. Of a long name the end stays.
func (f *file) row(width int) string {
	const leastName, amountColumn = 10, 24
	facts := f.pace()
	if width >= leastName+amountColumn+len(facts) {
		facts = fmt.Sprintf("%*s", amountColumn, amount(f.done, f.total, " / ")+" ") + facts
	}
	room := max(0, width-len(facts)-1)
	name := path.Base(filepath.ToSlash(f.name))
	if over := runewidth.StringWidth(name) - room; over > 0 {
		name = runewidth.TruncateLeft(name, over+3, "..."[:min(3, room)])
	}
	if bar := room - runewidth.StringWidth(name) - len(" []"); f.total > 0 && bar >= 5 {
		full := min(bar, int(float64(bar)*float64(f.done)/float64(f.total)))
		name += " [" + (strings.Repeat("=", full) + ">" + strings.Repeat("-", bar))[:bar] + "]"
	}
	return strings.TrimRight(runewidth.Truncate(runewidth.FillRight(name, room)+" "+facts, max(width, 0), ""), " ")
}

// pace returns, for example, "  50 %   1.0 MiB/s    0:01  try 2". The percentage is rounded down, so that 100 means all.
func (f *file) pace() string {
	percent, left := "", ""
	if f.total > 0 {
		percent = fmt.Sprintf("%d %%", int64(float64(f.done)/float64(f.total)*100))
	}
	if d := f.speed.left(f.done, f.total); d >= 0 {
		left = clockTime(d)
	}
	text := fmt.Sprintf("%6s%12s/s%8s ", percent, binary(f.speed.rate), left)
	if f.try > 1 {
		text += fmt.Sprintf(" try %d", f.try)
	}
	return text
}

// speed measures bytes per second. If the data goes straight to the file its counter moves in steps of up to half a
// second, so a sample lasts from one step to another.
type speed struct {
	last      int64 // value of the counter
	began, at time.Time
	rate      float64 // 0: not known yet
}

// update adds the counter's value now. If it has fallen, measuring starts over.
func (s *speed) update(done int64, now time.Time) {
	const (
		memory   = 12   // seconds: a sample that old counts for a third
		shortest = 0.25 // of a sample
		stall    = 2    // so long without movement is a sample too
	)
	if s.at.IsZero() || done < s.last {
		*s = speed{last: done, began: now, at: now}
		return
	}
	span := now.Sub(s.at).Seconds()
	if span < shortest || done == s.last && span < stall {
		return
	}
	// At first the rate is the average since the start, later that of the last seconds.
	weight := max(1-math.Exp(-span/memory), span/now.Sub(s.began).Seconds())
	s.rate += (float64(done-s.last)/span - s.rate) * weight
	s.last, s.at = done, now
}

// left returns the time that the rest takes at the current rate, or -1 if that is unknown.
func (s *speed) left(done, total int64) time.Duration {
	seconds := float64(total-done) / s.rate
	if total < done || s.rate <= 0 || seconds > 1e8 {
		return -1
	}
	return time.Duration(seconds * float64(time.Second))
}

// parts returns, for example, "0:40 left", "1.0 MiB/s" and "1.2 GiB of 3.0 GiB".
func (s *speed) parts(done, total int64) (parts []string) {
	if left := s.left(done, total); left >= 0 {
		parts = append(parts, clockTime(left)+" left")
	}
	return append(parts, binary(s.rate)+"/s", amount(done, total, " of "))
}

// clockTime formats a time left as 4:05 or 1:02:03.
func clockTime(d time.Duration) string {
	s := int64(math.Ceil(d.Seconds()))
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// amount returns, for example, "1.0 MiB of 2.0 MiB".
func amount(done, total int64, of string) string {
	if total <= 0 {
		return binary(float64(done))
	}
	return binary(float64(done)) + of + binary(float64(total))
}

// binary formats a number of bytes in binary units, as 1.5 MiB.
func binary(n float64) string {
	i := 0
	for ; n >= 1023.95 && i < 4; i++ {
		n /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%.0f B", n)
	}
	return fmt.Sprintf("%.1f %ciB", n, "KMGT"[i-1])
}
