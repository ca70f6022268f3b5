package show

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// refresh is the time from one drawing of the rows to the next.
const refresh = 75 * time.Millisecond

// animate draws the rows of r at the bottom of the terminal until stop is called, which removes them. What is written
// meanwhile appears above them. The cursor is always at the start of the line below.
func (p *Printer) animate(r *Run) (stop func()) {
	p.bottom = r
	done := make(chan struct{})
	go func() {
		for tick := time.Tick(refresh); ; {
			select {
			case <-done:
				return
			case <-tick:
				if p.mu.Lock(); p.bottom != nil { // else the terminal may be closed
					p.draw("")
				}
				p.mu.Unlock()
			}
		}
	}()
	return func() {
		close(done)
		p.bottom = nil
		p.draw("")
	}
}

// Alone calls f, which asks the user something, while the bottom of the terminal is empty.
func (p *Printer) Alone(f func()) {
	swap := func(r *Run) (before *Run) {
		defer p.lock()()
		before, p.bottom = p.bottom, r
		p.draw("")
		return before
	}
	defer swap(swap(nil))
	f()
}

// draw writes text, which is empty or ends in a line end, above the rows, and draws them anew. A process that was stopped,
// or is in the background, leaves the rows from before where they are: what stands below them is the shell's.
func (p *Printer) draw(text string) {
	away := inBackground(p.err)
	if len(p.drawn) > 0 && !away && time.Since(p.painted) < time.Second {
		width, _ := size(p.err)
		up := 0
		for _, columns := range p.drawn { // the terminal may have become narrower
			up += max(1, (columns+width-1)/width)
		}
		text = fmt.Sprintf("\r\x1b[%dA\x1b[J", up) + text
	}
	p.drawn = nil
	if p.bottom != nil && !away {
		for _, row := range p.bottom.rows(size(p.err)) {
			p.drawn = append(p.drawn, runewidth.StringWidth(row))
			text += row + "\n"
		}
	}
	if text != "" {
		_, _ = io.WriteString(p.err, text)
	}
	p.painted = time.Now()
}

// Narrow reports whether standard output is a terminal on which long lines of listings would wrap.
func (p *Printer) Narrow() bool {
	width, _ := size(p.Out.(output).Writer)
	return width < 60 && IsTerminal(p.Out)
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

// draws reports whether rows can be drawn on out: a terminal that says how wide it is and can move its cursor. Of what
// is no terminal it reports true.
func draws(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return true
	}
	width, _, err := term.GetSize(int(f.Fd()))
	return err == nil && width > 0 && movesCursor(f, strings.ToLower(os.Getenv("TERM")))
}

// Console is the terminal that the process belongs to, whatever its standard input and output are.
type Console struct{ In, Out *os.File }

// OpenConsole opens the console by its names on this system.
func OpenConsole() (*Console, error) {
	in, err := os.OpenFile(consoleIn, os.O_RDWR, 0)
	out := in
	if consoleOut != consoleIn && err == nil {
		out, err = os.OpenFile(consoleOut, os.O_RDWR, 0)
	}
	return &Console{in, out}, err
}

// ReadSecret shows prompt and reads a line without echo. If ctx ends first, it turns the echo back
// on and leaves the read to end with the process: not every system can cancel a read of a terminal.
func (c *Console) ReadSecret(ctx context.Context, prompt string) (line string, err error) {
	fd := int(c.In.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	read := make(chan func() (string, error), 1)
	go func() {
		if fmt.Fprint(c.Out, prompt); ctx.Err() == nil { // a terminal that was stopped may have taken the prompt too late
			line, err := term.ReadPassword(fd)
			read <- func() (string, error) { return string(line), err }
		}
	}()
	select {
	case answer := <-read:
		line, err = answer()
	case <-ctx.Done():
		_ = term.Restore(fd, before)
		err = context.Cause(ctx)
	}
	fmt.Fprintln(c.Out) // the terminal did not echo the line end
	return line, err
}

// ReadLine reads a line byte by byte, so that what follows stays unread. It returns io.EOF if the input ends before
// the first byte.
func ReadLine(in io.Reader) (string, error) {
	var line []byte
	for one := make([]byte, 1); len(line) <= 4096; line = append(line, one[0]) {
		_, err := io.ReadFull(in, one)
		switch {
		case err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)):
			return "", err
		case err != nil, one[0] == '\n':
			return strings.TrimSuffix(string(line), "\r"), nil
		}
	}
	return "", errors.New("the line is too long for a password")
}
