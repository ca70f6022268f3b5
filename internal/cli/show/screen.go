package show

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// refresh is the time from one drawing of the lines to the next.
const refresh = 75 * time.Millisecond

// animate draws the lines of r at the bottom of the terminal until stop is called,
// which removes them. What is written meanwhile appears above them. The cursor is
// always at the start of the line below. While the process is stopped the lines
// are not on the terminal, which belongs to the shell then.
func (p *Printer) animate(r *Run) (stop func()) {
	p.mu.Lock()
	p.bottom = r
	p.mu.Unlock()
	done := make(chan struct{})
	go func() {
		ticker := time.NewTicker(refresh)
		defer ticker.Stop()
		defer aroundStops(func() { p.mu.Lock(); p.paint("", nil) }, p.mu.Unlock)()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				p.draw("")
			}
		}
	}()
	return func() {
		close(done)
		p.mu.Lock()
		p.bottom = nil
		p.mu.Unlock()
		p.draw("")
	}
}

// Alone calls f, which asks the user something, while the bottom of the terminal is
// empty.
func (p *Printer) Alone(f func()) {
	hold := func(held bool) {
		p.mu.Lock()
		p.held = held
		p.mu.Unlock()
		p.draw("")
	}
	hold(true)
	defer hold(false)
	f()
}

// draw writes text, which is empty or ends in a line end, above the lines, and draws
// them anew.
func (p *Printer) draw(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case inBackground(p.err):
		p.drawn = nil // the rows are the shell's now
		p.paint(text, nil)
	case p.bottom == nil || p.held:
		p.paint(text, nil)
	default:
		p.paint(text, p.bottom.rows(size(p.err)))
	}
}

// paint replaces the rows on the terminal by text and rows. The caller holds p.mu.
func (p *Printer) paint(text string, rows []string) {
	if len(p.drawn) > 0 {
		width, _ := size(p.err)
		up := 0
		for _, columns := range p.drawn { // the terminal may have become narrower
			up += max(1, (columns+width-1)/width)
		}
		text = fmt.Sprintf("\r\x1b[%dA\x1b[J", up) + text
	}
	p.drawn = nil
	for _, row := range rows {
		p.drawn = append(p.drawn, runewidth.StringWidth(row))
		text += row + "\n"
	}
	if text != "" {
		_, _ = io.WriteString(p.err, text)
	}
}

// size returns the size of the terminal, or what is usual for one.
func size(out io.Writer) (width, height int) {
	if f, ok := out.(*os.File); ok {
		if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 0 {
			return width, height
		}
	}
	return 80, 24
}

// draws reports whether lines can be drawn on out: a terminal that says how wide
// it is and can move its cursor. Of what is no terminal it reports true.
func draws(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return true
	}
	width, _, err := term.GetSize(int(f.Fd()))
	return err == nil && width > 0 && movesCursor(f, strings.ToLower(os.Getenv("TERM")))
}
