package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// refresh is the time from one drawing of the lines to the next.
const refresh = 75 * time.Millisecond

// passingLine is a line of text at the bottom of the terminal, which is drawn again
// and again until it is removed. Those with a higher priority are below the others.
type passingLine struct {
	priority int
	text     func(width int) string // "": not shown now
}

// passingLines are the lines at the bottom of the terminal. What is written
// meanwhile appears above them. The cursor is always at the start of the line below.
type passingLines struct {
	mu    sync.Mutex // never held while writing
	lines []*passingLine
	held  bool
	end   func() // ends the drawing; nil: nothing is drawn

	screen sync.Mutex // held while writing
	drawn  []int      // the columns of each row on the terminal
}

// add adds a line. It does not block.
func (s *passingLines) add(out io.Writer, l *passingLine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, _ := slices.BinarySearchFunc(s.lines, l.priority+1, func(a *passingLine, p int) int { return a.priority - p })
	s.lines = slices.Insert(s.lines, at, l)
	s.animate(out)
}

// remove removes a line. It does not block: the next drawing or write shows it.
func (s *passingLines) remove(out io.Writer, l *passingLine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = slices.DeleteFunc(s.lines, func(a *passingLine) bool { return a == l })
	s.animate(out)
}

// hold shows no lines, as long as somebody is asked for something, until release
// is called.
func (s *passingLines) hold(out io.Writer, held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = held
	s.animate(out)
}

// animate starts or ends the drawing. The caller holds s.mu.
func (s *passingLines) animate(out io.Writer) {
	switch wanted := len(s.lines) > 0 && !s.held; {
	case wanted && s.end == nil:
		done := make(chan struct{})
		s.end = func() { close(done) }
		go s.redraw(out, done)
	case !wanted && s.end != nil:
		s.end()
		s.end = nil
	}
}

// redraw draws the lines until done is closed. While the process is stopped they
// are not on the terminal, which belongs to the shell then.
func (s *passingLines) redraw(out io.Writer, done <-chan struct{}) {
	ticker := time.NewTicker(refresh)
	defer ticker.Stop()
	defer aroundStops(func() {
		s.screen.Lock()
		_ = s.show(out, "", nil)
	}, s.screen.Unlock)()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			_ = s.write(out, "")
		}
	}
}

// write writes text, which is empty or ends in a line end, above the lines, and draws
// them anew.
func (s *passingLines) write(out io.Writer, text string) error {
	s.screen.Lock()
	defer s.screen.Unlock()
	if inBackground(out) {
		s.drawn = nil // the rows are the shell's now
		return s.show(out, text, nil)
	}
	return s.show(out, text, s.rows(size(out)))
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

// rows returns the lines that are shown now. Where there is not room for all of
// them, the last one stays.
func (s *passingLines) rows(width, height int) (rows []string) {
	s.mu.Lock()
	lines := slices.Clone(s.lines)
	if s.held {
		lines = nil
	}
	s.mu.Unlock()
	for _, l := range lines {
		if text := l.text(width); text != "" {
			rows = append(rows, runewidth.Truncate(text, width, ""))
		}
	}
	if most := max(1, height-2); len(rows) > most { // one is for the cursor, one for what was there before
		rows = append(rows[:most-1], rows[len(rows)-1])
	}
	return rows
}

// show replaces the rows on the terminal by text and rows. The caller holds s.screen.
func (s *passingLines) show(out io.Writer, text string, rows []string) error {
	if len(s.drawn) > 0 {
		width, _ := size(out)
		up := 0
		for _, columns := range s.drawn { // the terminal may have become narrower
			up += max(1, (columns+width-1)/width)
		}
		text = fmt.Sprintf("\r\x1b[%dA\x1b[J", up) + text
	}
	s.drawn = nil
	for _, row := range rows {
		s.drawn = append(s.drawn, runewidth.StringWidth(row))
		text += row + "\n"
	}
	if text == "" {
		return nil
	}
	_, err := io.WriteString(out, text)
	return err
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
