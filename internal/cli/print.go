package cli

// All printing is in this file (the progress bar draws itself, progress.go).
// Its rules:
//
//  1. Standard output gets what was asked for and nothing else: data, names,
//     plans, help.
//  2. All else goes to standard error. There a line is complete or not there;
//     complaints begin with "ftpfetch: ", the dialogue with "* ", "> " or
//     ">> ", "< ".
//  3. A line on standard error is one line and does nothing to a terminal:
//     text from servers, URLs and file names passes through escape.
//  4. Names on standard output are bytes as they came, unless it is a
//     terminal: there they pass through escape as well.
//  5. URLs are shown with their password as "***"; passwords are not shown.
//  6. A message waits for its reader until the run's context ends, or the reader
//     has taken nothing for the patience of the printer; then it is dropped. Data
//     waits until the context ends, and what is lost is an error.
//  7. An error of writing to standard error has no place to be reported.

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
	"example.com/ftpfetch/internal/printable"
)

// printer holds where and how to print. It is safe for concurrent use.
type printer struct {
	display
	out, err *stream
	now      func() time.Time
	patience time.Duration // for a message to be taken by its reader
	bars     barStack
	failing  atomic.Pointer[event] // what is known of a transfer that failed, until the run says why; nil: none did

	mu     sync.Mutex
	ctx    context.Context // what a message may wait for its reader in: of the run, or of the URL at hand
	flight int             // of the command printed last; 0: something else was
}

// within has messages wait no longer than ctx, until restore is called.
func (p *printer) within(ctx context.Context) (restore func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.ctx
	p.ctx = ctx
	return func() { p.within(before) }
}

// tell calls f, which writes a message to standard error and may return what
// that gave, and returns it; or the zero value where f does not end in time.
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
	tell(p, func() error { return p.bars.write(p.err.w, text) })
}

// text writes what was asked for.
func (p *printer) text(ctx context.Context, s string) error {
	_, err := io.WriteString(output{ctx, p.out}, s)
	return err
}

// output is standard output during ctx, with its errors marked.
type output struct {
	ctx context.Context // an io.Writer's method takes none
	*stream
}

func (o output) Write(b []byte) (int, error) {
	n, err := during(o.ctx, o.stream, func() (int, error) {
		n, err := o.w.Write(b)
		return n, outputError(err)
	})
	return n, err
}

// outputError marks the errors of writing to standard output as local ones.
func outputError(err error) error {
	if err == nil {
		return nil
	}
	return &download.Error{Path: "standard output", Reason: "cannot be written: " + err.Error(), Err: err}
}

// complain reports why the command line cannot be followed.
func (p *printer) complain(err error) {
	p.line("ftpfetch: %s; try ftpfetch --help", oneLine(err.Error()))
}

// warning tells of a danger that the user has asked for.
func (p *printer) warning(text string) {
	if p.progress == progressJSON {
		p.emit(event{Event: "note", Text: "warning: " + text})
		return
	}
	p.line("ftpfetch: warning: %s", text)
}

// failed reports why a URL could not be retrieved. subject is the URL without
// password, and rest what follows the reason. A reader that went away is not
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

// describe is the error's text without the URL, which stands before it, and
// with what to write instead. What is known of flags goes before what the
// library knows.
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

// event shows the dialogue with the server as curl -v does. A command that
// travels with the one before, without waiting for a reply, has ">>".
func (p *printer) event(e ftpexec.Event) {
	p.mu.Lock()
	same := e.Kind == ftpexec.EventCommand && e.Flight != 0 && e.Flight == p.flight
	p.flight = 0
	if e.Kind == ftpexec.EventCommand {
		p.flight = e.Flight
	}
	p.mu.Unlock()
	p.line("%s %s", mark(e.Kind, same), oneLine(e.Text))
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

// bytes counts them in words.
func octets(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// transferred tells that a transfer is complete.
func (p *printer) transferred(name string, done download.Result, took time.Duration) {
	p.line("%s: %s in %.1f s%s", printable.Line(name), octets(done.Size), took.Seconds(), verified(done))
}

// skipped tells that a file was left alone.
func (p *printer) skipped(name string, done download.Result) {
	if !p.quiet {
		p.line("%s: %s, left as it is%s", printable.Line(name), whyLeft(done.Reason), verified(done))
	}
}

// whyLeft is why a file that exists was left alone.
func whyLeft(r download.Reason) string {
	switch r {
	case download.ReasonNotNewer:
		return "not newer on the server"
	case download.ReasonComplete:
		return "complete already"
	}
	return "exists already"
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
	terminal bool // escape, and write every line at once
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

// jsonEntry is the JSON object of an entry, with its line end. The name is
// text, bytes that are not UTF-8 become U+FFFD; the URL names the entry
// exactly. A password is left out of it: it would be read by others.
func jsonEntry(e ftpexec.Entry) []byte {
	return printable.JSON(struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	}{e.Name, e.URL.WithoutPassword().String()})
}
