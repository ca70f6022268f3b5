package show

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"

	"example.com/ftpfetch/internal/printable"
)

const refresh = 75 * time.Millisecond

// animate draws the rows of r at the bottom of the terminal until stop is called, which removes them. Text written
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
				p.mu.Lock()
				if p.bottom != nil { // otherwise the terminal may be closed
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

// narration is how often a terminal without rows is told what the run waits for.
const narration = 2 * time.Second

// narrate tells a terminal on which rows cannot be drawn what r waits for, until stop is called.
func (p *Printer) narrate(r *Run) (stop func()) {
	done := make(chan struct{})
	go func() {
		said := ""
		for tick := time.Tick(narration); ; {
			select {
			case <-done:
				return
			case <-tick:
				p.mu.Lock()
				if text := r.waiting(); text != said {
					said = text
					p.say(event{Event: "note", Text: text}, text)
				}
				p.mu.Unlock()
			}
		}
	}()
	return func() { close(done) }
}

// waiting says what the run waits for, or "" once data flows.
func (r *Run) waiting() string {
	switch {
	case r.flows():
		return ""
	case !r.lone:
		return strings.Join(append(r.parts(), r.p.waits.String()), ", ")
	case len(r.files) > 0 && r.files[0].began.IsZero():
		return printable.Line(r.files[0].task.URLs[0].Host) + ": " + r.p.waits.String()
	}
	return ""
}

// Alone calls f, which prompts the user, while the bottom of the terminal is empty.
func (p *Printer) Alone(f func()) {
	shown := p.replaceBottom(nil)
	defer func() { p.replaceBottom(shown) }()
	defer p.ask()()
	f()
}

// replaceBottom shows r at the bottom of the terminal, or nothing if r is nil. It returns what was there before.
func (p *Printer) replaceBottom(r *Run) (before *Run) {
	defer p.lock()()
	before = p.bottom
	p.bottom = r
	p.draw("")
	return before
}

// ask records that the user is being prompted. The time until answered is called does not count for what waits for the
// answer.
func (p *Printer) ask() (answered func()) {
	defer p.lock()()
	r := p.run
	if r == nil {
		return func() {}
	}
	from := p.now()
	received := r.received
	return func() {
		defer p.lock()()
		r.pause(from, received)
	}
}

// draw writes text, which is empty or ends in a line end, above the rows, and redraws them. A process that was stopped,
// or is in the background, does not erase its old rows, because the shell has written below them.
func (p *Printer) draw(text string) {
	away := inBackground(p.err)
	if len(p.drawn) > 0 && !away && time.Since(p.painted) < time.Second {
		width, _ := size(p.err)
		up := 0
		for _, columns := range p.drawn { // the terminal may be narrower now
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
	width, _ := size(p.Out.Writer)
	return width < 60 && IsTerminal(p.Out)
}

// size returns the width and the height of a terminal, or a usual size for what is none.
func size(out io.Writer) (width, height int) {
	err := errors.ErrUnsupported
	if f, ok := out.(*os.File); ok {
		ask(f, func(fd int) { width, height, err = term.GetSize(fd) })
	}
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// ask calls f with the descriptor of file, which stays open until f returns even if file is closed meanwhile. If file
// is closed, ask does not call f.
func ask(file *os.File, f func(fd int)) {
	conn, err := file.SyscallConn()
	if err == nil {
		_ = conn.Control(func(fd uintptr) { f(int(fd)) })
	}
}

// draws reports whether rows can be drawn on out. It must be a terminal that tells its width and can move the cursor.
func draws(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok || !IsTerminal(f) {
		return true
	}
	width := 0
	ask(f, func(fd int) { width, _, _ = term.GetSize(fd) })
	return width > 0 && movesCursor(f, strings.ToLower(os.Getenv("TERM")))
}

// Console is the terminal that the process belongs to, whatever its standard input and output are.
type Console struct{ In, Out *os.File }

// OpenConsole opens the console by its name on this system.
func OpenConsole() (*Console, error) {
	in, err := os.OpenFile(consoleIn, os.O_RDWR, 0)
	out := in
	if consoleOut != consoleIn && err == nil {
		out, err = os.OpenFile(consoleOut, os.O_RDWR, 0)
	}
	return &Console{in, out}, err
}

// ReadSecret shows prompt and reads a line without echo. It returns io.EOF if there is none (^D). If ctx ends first,
// ReadSecret turns the echo back on and leaves the read to end with the process: not every system can cancel a read of
// a terminal.
func (c *Console) ReadSecret(ctx context.Context, prompt string) (line string, err error) {
	fd := int(c.In.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	read := make(chan func() (string, error), 1)
	go func() {
		fmt.Fprint(c.Out, prompt)
		if ctx.Err() == nil { // a terminal stopped by ^S may take the prompt too late
			line, err := readSecret(c.In)
			read <- func() (string, error) { return line, err }
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

// ReadLine reads a line byte by byte, so that what follows stays unread. It returns io.EOF if there is no byte to read.
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

// rowDelay is the age at which a transfer gets a row. Without it, small files would make the screen flicker.
const rowDelay = 300 * time.Millisecond

// rows returns the rows for a terminal of this size: one for each file, and last one for all of them, which has
// priority if there is not room for all. Before data flows, the last row shows the state of the dialogue.
func (r *Run) rows(width, height int) (rows []string) {
	now := r.p.now()
	for _, f := range r.files {
		switch {
		case r.lone && now.Sub(f.made) < rowDelay:
		case r.lone && f.began.IsZero():
			text := printable.Line(f.task.URLs[0].Host) + ": " + r.p.waits.String()
			rows = append(rows, runewidth.Truncate(text, width, ""))
		case r.lone || !f.began.IsZero() && now.Sub(f.began) >= rowDelay:
			rows = append(rows, f.row(width))
		}
	}
	if !r.lone && now.Sub(r.began) >= rowDelay {
		rows = append(rows, r.row(width))
	}
	if most := max(1, height-2); len(rows) > most { // one line is for the cursor, one for what was there before
		rows = append(rows[:most-1], rows[len(rows)-1])
	}
	return rows
}

func (r *Run) row(width int) string {
	parts := r.parts()
	if !r.flows() {
		parts = append(parts, r.p.waits.String())
	}
	for len(parts) > 1 && runewidth.StringWidth(strings.Join(parts, ", ")) > width {
		parts = parts[:len(parts)-1]
	}
	return runewidth.Truncate(strings.Join(parts, ", "), width, "")
}

func (r *Run) flows() bool { return r.received > 0 || r.totals.Complete > 0 }

// parts returns, for example, "3 of 8 files", "1 failed", "0:40 left", "1.0 MiB/s" and "1.2 GiB of 3.0 GiB", the most
// important first.
func (r *Run) parts() []string {
	files, octets := r.of()
	parts := []string{fmt.Sprintf("%d of %s", r.totals.Complete, printable.Count(files, "file", "files"))}
	if r.totals.Listing > 0 {
		parts[0] += " so far"
		if !r.flows() {
			parts[0] = fmt.Sprintf("listing %s: %s so far", r.p.tree(), printable.Count(files, "file", "files"))
		}
	}
	if n := r.totals.Failed + r.totals.Unlisted; n > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", n))
	}
	if !r.flows() {
		return parts
	}
	return append(parts, r.speed.parts(r.done, octets)...)
}

// tree returns a name for what is being listed: ".../pub/", or "directories" for several trees.
func (p *Printer) tree() string {
	if p.Tree == nil {
		return "directories"
	}
	if n := len(p.Tree.Dirs); n > 0 {
		return printable.Line(".../" + p.Tree.Dirs[n-1] + "/")
	}
	return printable.Line(p.Tree.Host) + "/"
}

// row returns, for example, "name.tar.gz [==>--]  1.0 MiB / 2.0 MiB   50 %  1.0 MiB/s    0:01", in width columns. The
// figures of several files are aligned. If a name is too long, row keeps its end.
func (f *file) row(width int) string {
	facts := f.facts(width)
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

// leastName is the number of columns reserved for the name of a file. Facts that do not fit beside it are left out.
const leastName = 18

// facts returns, for example, "  1.0 MiB / 2.0 MiB   50 %  1.0 MiB/s    0:01  try 2", or in a narrow terminal the most
// important of these. The percentage is rounded down, so that 100 means all.
func (f *file) facts(width int) (text string) {
	percent := ""
	if f.total > 0 {
		percent = fmt.Sprintf("%d %%", int64(float64(f.done)/float64(f.total)*100))
	}
	try := ""
	if f.try > 1 {
		try = fmt.Sprintf("  try %d", f.try)
	}
	facts := []string{
		fmt.Sprintf("%19s", amount(f.done, f.total, " / ")),
		fmt.Sprintf("%6s", percent),
		fmt.Sprintf("%10s/s", printable.Size(f.speed.rate)),
		fmt.Sprintf("%8s", f.speed.left(f.done, f.total)),
		try,
	}
	shown := make([]string, len(facts))
	room := width - leastName - 1
	for _, i := range []int{3, 1, 2, 0, 4} {
		if strings.TrimSpace(facts[i]) != "" || width >= 80 {
			if room -= len(facts[i]); room < 0 {
				break
			}
			shown[i] = facts[i]
		}
	}
	return strings.Join(shown, "")
}

func clockTime(d time.Duration) string {
	s := int64(math.Ceil(d.Seconds()))
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// ending returns how much was received and how fast, for example "108 MiB in 16.1 s, 6.7 MiB/s". Very short times give
// no rate.
func ending(received int64, took time.Duration) string {
	text := printable.Size(received) + " in " + printable.Duration(took)
	if received > 0 && took >= 100*time.Millisecond {
		text += ", " + printable.Size(float64(received)/took.Seconds()) + "/s"
	}
	return text
}

func amount(done, total int64, of string) string {
	text := printable.Size(done)
	if total > 0 {
		text += of + printable.Size(total)
	}
	return text
}
