package cli

// This file prints everything except the lines drawn again and again (progress_stack.go) and the
// password prompt (prompt.go). Its rules:
//
//  1. Standard output gets the data, names, plans or help that the user asked
//     for, and nothing else.
//  2. Everything else goes to standard error, in whole lines. Errors and
//     warnings start with "ftpfetch: ", lines of the dialogue with "* ", "> ",
//     ">> " or "< ".
//  3. Text from servers, URLs and file names is escaped before it goes to
//     standard error, so that it stays on one line and does nothing to a
//     terminal.
//  4. Names go to standard output byte for byte, unless it is a terminal: then
//     they are escaped too.
//  5. A URL shows its password as "***". No other text shows a password.
//  6. A message is dropped if its reader does not take it before the printer's
//     patience runs out or the run's context ends. Data waits until the context
//     ends; losing it is an error.
//  7. Errors from writing to standard error are ignored.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/internal/printable"
)

// printer knows where and how to print. It is safe for concurrent use.
type printer struct {
	display
	out, err *stream
	now      func() time.Time
	patience time.Duration // how long a message waits for its reader
	lines    passingLines
	waits    waits
	place    atomic.Pointer[string] // which of several URLs is retrieved, as "3 of 8: "; nil: there is one
	failing  atomic.Pointer[event]  // the last state of a transfer that failed, until failed reports it; nil: none

	mu   sync.Mutex
	ctx  context.Context // ends every wait for a message's reader: the context of the run or of the current URL
	last ftpexec.Event   // the one printed last
}

// within makes messages wait no longer than ctx, until restore is called.
func (p *printer) within(ctx context.Context) (restore func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.ctx
	p.ctx = ctx
	return func() { p.within(before) }
}

// tell calls f, which writes a message to standard error, and returns its
// result, or the zero value if f does not return in time.
func tell[T any](p *printer, f func() T) T {
	p.mu.Lock()
	ctx, cancel := context.WithTimeout(p.ctx, p.patience)
	p.mu.Unlock()
	defer cancel()
	v, _ := during(ctx, p.err, func() (T, error) { return f(), nil })
	return v
}

// line writes one line to standard error.
func (p *printer) line(format string, args ...any) {
	text := fmt.Sprintf(format+"\n", args...)
	tell(p, func() error { return p.lines.write(p.err.w, text) })
}

// removeLine removes a line from the bottom of the terminal. When it returns the
// terminal shows that, if it can.
func (p *printer) removeLine(l *passingLine) {
	p.lines.remove(p.err.w, l)
	tell(p, func() error { return p.lines.write(p.err.w, "") })
}

// position returns which of several URLs is retrieved, as "3 of 8: ", or nothing.
func (p *printer) position() string {
	if place := p.place.Load(); place != nil {
		return *place
	}
	return ""
}

// text writes s to standard output.
func (p *printer) text(ctx context.Context, s string) error {
	_, err := io.WriteString(output{ctx, p.out}, s)
	return err
}

// output writes to standard output until ctx ends and marks its errors.
type output struct {
	ctx context.Context // Write takes no context
	*stream
}

func (o output) Write(b []byte) (int, error) {
	n, err := during(o.ctx, o.stream, func() (int, error) {
		n, err := o.w.Write(b)
		return n, outputError(err)
	})
	return n, err
}

// outputError marks an error of writing to standard output as a local one. It
// returns nil for nil.
func outputError(err error) error {
	return localError("standard output", "cannot be written", err)
}

// complain reports what is wrong with the command line.
func (p *printer) complain(err *config.Error) {
	for i, text := range err.Lines {
		if i == len(err.Lines)-1 && !err.Whole {
			text += "; try ftpfetch --help"
		}
		p.line("ftpfetch: %s", oneLine(text))
	}
}

// warning reports a danger in what the user asked for.
func (p *printer) warning(text string) {
	if p.progress == progressJSON {
		p.emit(event{Event: "note", Text: "warning: " + text})
		return
	}
	p.line("ftpfetch: warning: %s", text)
}

// note shows what happens to the process or to a server's connections. A run that
// waits for room says so without -v: it would look like one that hangs.
func (p *printer) note(text string, waits bool) {
	switch {
	case !p.verbose && (p.quiet || !waits):
	case p.progress == progressJSON:
		p.emit(event{Event: "note", Text: text})
	case p.verbose:
		p.line("* %s", oneLine(text))
	default:
		p.line("%s", oneLine(text))
	}
}

// failed reports why a URL could not be retrieved. subject is the URL without
// its password; rest follows the reason. A closed standard output is not
// reported.
func (p *printer) failed(subject string, err error, rest string) {
	what := oneLine(describe(err) + rest)
	switch {
	case outputClosed(err):
		return
	case p.progress == progressJSON:
		p.emitFailure(subject, err, what)
		return
	}
	if subject != "" {
		what = printable.Line(subject) + ": " + what
	}
	p.line("ftpfetch: %s", what)
}

// describe returns the text of err without the URL, which the caller prints,
// and with a hint. A hint about flags replaces the library's own.
func describe(err error) string {
	var server *ftpexec.Error
	what, instead := err.Error(), hint(err)
	if errors.As(err, &server) {
		e := *server
		if instead != "" {
			e.Hint = ""
		}
		what = strings.TrimPrefix(e.Error(), e.URL+": ")
	}
	if instead != "" {
		what += " (" + instead + ")"
	}
	return what
}

// event shows the dialogue with the server as curl -v does. It marks a command
// that travels in the same flight as the one before with ">>", and lines of
// all connections but the first with "[2]" and so on.
func (p *printer) event(e ftpexec.Event) {
	p.mu.Lock()
	before := p.last
	p.last = e
	p.mu.Unlock()
	before.Text = e.Text
	conn := ""
	if e.Conn > 1 {
		conn = fmt.Sprintf("[%d] ", e.Conn)
	}
	p.line("%s %s%s", mark(e.Kind, e == before), conn, oneLine(e.Text))
}

func mark(kind ftpexec.EventKind, sameFlight bool) string {
	switch {
	case kind == ftpexec.EventReply:
		return "<"
	case kind != ftpexec.EventCommand:
		return "*"
	case sameFlight:
		return ">>"
	}
	return ">"
}

// bytesOf returns "1 byte" or "n bytes".
func bytesOf(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// transferred reports a complete transfer.
func (p *printer) transferred(name string, done download.Result, took time.Duration) {
	p.line("%s: %s in %.1f s%s", printable.Line(name), bytesOf(done.Size), took.Seconds(), verified(done))
}

// skipped reports a file that was left alone.
func (p *printer) skipped(name string, done download.Result) {
	if !p.quiet {
		p.line("%s: %s, left alone%s", printable.Line(name), whyLeft(done.Reason), verified(done))
	}
}

// made reports that the run made a directory.
func (p *printer) made(dir string) {
	switch {
	case p.progress == progressJSON:
		p.emit(event{Event: "note", Path: dir, Text: "directory made"})
	case !p.quiet:
		p.line("%s: directory made", printable.Line(dir))
	}
}

// whyLeft says why an existing file was left alone.
func whyLeft(r download.Reason) string {
	switch r {
	case download.ReasonNotNewer:
		return "not newer on the server"
	case download.ReasonComplete:
		return "already complete"
	}
	return "already exists"
}

// verified says what the file's digest was compared with.
func verified(done download.Result) string {
	if done.Verified == "" {
		return ""
	}
	return " (verified: " + oneLine(done.Verified) + ")"
}

// lister prints the entries of a directory, one a line.
type lister struct {
	w        *bufio.Writer
	json     bool
	terminal bool // escape names and flush every line
}

func (l *lister) entry(e ftpexec.Entry) error {
	var err error
	switch {
	case l.json:
		_, err = l.w.Write(jsonEntry(e))
	case l.terminal:
		_, err = l.w.WriteString(printable.Line(e.Name) + "\n")
	default:
		_, err = l.w.WriteString(e.Name + "\n")
	}
	if err == nil && l.terminal {
		err = l.w.Flush()
	}
	return err
}

// jsonEntry returns the JSON object for an entry, with its line end. In the
// name, bytes that are not UTF-8 become U+FFFD; the URL names the entry
// exactly, without a password.
func jsonEntry(e ftpexec.Entry) []byte {
	return printable.JSON(struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	}{e.Name, e.URL.WithoutPassword().String()})
}

// localError returns an error about a local file, or nil for nil.
func localError(path, what string, err error) error {
	if err == nil {
		return nil
	}
	return &download.Error{Path: path, Reason: what + ": " + localfile.Cause(err).Error(), Err: err}
}
