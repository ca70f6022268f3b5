// Package screen implements as much of a terminal as the command needs. Tests can wait for its contents, and draw them.
package screen

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Screen shows what is written to it. All methods may be used concurrently.
type Screen struct {
	width int

	mu      sync.Mutex
	changed *sync.Cond
	rows    []string // including those that have scrolled away
	row     int
	column  int
	escape  string
	over    bool // no more input comes
}

// New returns an empty screen with a width in characters.
func New(width int) *Screen {
	s := &Screen{width: width, rows: []string{""}}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// Show shows the data from r until its end.
func (s *Screen) Show(r io.Reader) {
	_, _ = io.Copy(s, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.changed.Broadcast()
}

// Write shows p, which must be ASCII.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range p {
		s.show(c)
	}
	s.over = false
	s.changed.Broadcast()
	return len(p), nil
}

func (s *Screen) show(c byte) {
	switch {
	case c == 0x1b:
		s.escape = "\x1b"
	case s.escape != "":
		s.escape += string(c)
		if c >= 'A' && c <= 'z' && c != '[' {
			s.control(s.escape)
			s.escape = ""
		}
	case c == '\r':
		s.column = 0
	case c == '\n':
		s.down()
	default:
		if s.column == s.width {
			s.column = 0
			s.down()
		}
		row := s.rows[s.row] + strings.Repeat(" ", max(0, s.column-len(s.rows[s.row])))
		s.rows[s.row] = row[:s.column] + string(c) + row[min(len(row), s.column+1):]
		s.column++
	}
}

func (s *Screen) down() {
	s.row++
	if s.row == len(s.rows) {
		s.rows = append(s.rows, "")
	}
}

// control moves the cursor up, or clears the screen below it.
func (s *Screen) control(sequence string) {
	if sequence != "\x1b[J" {
		var n int
		_, _ = fmt.Sscanf(sequence, "\x1b[%dA", &n)
		s.row = max(0, s.row-n)
	} else {
		s.rows = append(s.rows[:s.row], s.rows[s.row][:min(s.column, len(s.rows[s.row]))])
	}
}

// String returns the rows.
func (s *Screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.rows, "\n")
}

// Wait waits until enough returns true for the text on the screen, until no more input comes, or for a minute. It
// returns the text.
func (s *Screen) Wait(enough func(text string) bool) string {
	late := false
	defer time.AfterFunc(time.Minute, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		late = true
		s.changed.Broadcast()
	}).Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.over && !late && !enough(strings.Join(s.rows, "\n")) {
		s.changed.Wait()
	}
	return strings.Join(s.rows, "\n")
}
