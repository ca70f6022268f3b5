// Package show prints everything that the command shows, and asks for passwords.
// Its rules:
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
//  6. Errors from writing to standard error are ignored. What has no reader
//     waits: the command leaves it behind when it is told to end.
package show

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// Mode is how transfers are shown: the value of --progress.
type Mode string

// Auto is also written auto.
const (
	Auto  Mode = ""
	Bar   Mode = "bar"
	Plain Mode = "plain"
	JSON  Mode = "json"
	None  Mode = "none"
)

// Options holds the flags about what is shown.
type Options struct {
	Verbose, Quiet bool
	Progress       Mode
}

// Printer knows where and how to print. It is safe for concurrent use.
type Printer struct {
	Options
	Out io.Writer // standard output: its errors are marked as such

	err     io.Writer
	explain func(error) (text string, code int)
	now     func() time.Time
	waits   waits

	mu     sync.Mutex    // held while standard error is written to
	last   ftpexec.Event // the one printed last
	bottom *Run          // whose lines are at the bottom of the terminal; nil: nobody's
	held   bool          // they are not shown
	drawn  []int         // the columns of each row on the terminal
}

// New returns a Printer for these streams. A stream is a terminal if [IsTerminal]
// says so. explain returns the text of an error, or "" if it is not worth one,
// and its exit code.
func New(o Options, stdout, stderr io.Writer, explain func(error) (text string, code int)) *Printer {
	return &Printer{Options: o, Out: output{stdout}, err: stderr, explain: explain, now: time.Now}
}

// IsTerminal reports whether a stream is a terminal, or says so by a method
// IsTerminal() bool.
func IsTerminal(stream any) bool {
	switch s := stream.(type) {
	case interface{ IsTerminal() bool }:
		return s.IsTerminal()
	case *os.File:
		return term.IsTerminal(int(s.Fd()))
	}
	return false
}

// output marks the errors of standard output as local ones.
type output struct{ io.Writer }

func (o output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if err != nil {
		err = &download.Error{Path: "standard output", Reason: "cannot be written: " + localfile.Cause(err).Error(), Err: err}
	}
	return n, err
}

// IsTerminal reports whether standard output is a terminal.
func (o output) IsTerminal() bool { return IsTerminal(o.Writer) }

// mode applies -q and resolves auto. toTerminal says that data goes to the
// terminal, where a line that is drawn again and again would garble it.
func (p *Printer) mode(toTerminal bool) Mode {
	switch {
	case p.Quiet:
		return None
	case p.Progress == Bar && !draws(p.err):
		return Plain
	case p.Progress != Auto:
		return p.Progress
	case toTerminal:
		return None
	case IsTerminal(p.err) && !p.Verbose && draws(p.err):
		return Bar
	}
	return Plain
}

// Line writes one line to standard error.
func (p *Printer) Line(format string, args ...any) { p.draw(fmt.Sprintf(format+"\n", args...)) }

// tell prints a note about something: before is what the line begins with.
func (p *Printer) tell(before string, e event) {
	if p.Progress == JSON {
		e.Event, e.Text = "note", OneLine(e.Text)
		p.emit(e)
		return
	}
	if e.Path != "" {
		before += printable.Line(e.Path) + ": "
	}
	p.Line("%s%s", before, OneLine(e.Text))
}

// Warning reports a danger in what the user asked for.
func (p *Printer) Warning(text string) { p.tell("ftpfetch: ", event{Text: "warning: " + text}) }

// Note shows what happens to the process or to a server's connections. A run that
// waits for room says so without -v: it would look like one that hangs.
func (p *Printer) Note(text string, waits bool) {
	switch {
	case p.Verbose:
		p.tell("* ", event{Text: text})
	case waits && !p.Quiet:
		p.tell("", event{Text: text})
	}
}

// Made reports that the run made a directory.
func (p *Printer) Made(dir string) {
	if !p.Quiet {
		p.tell("", event{Path: dir, Text: "directory made"})
	}
}

// Linked reports a symbolic link or special file that was not retrieved.
func (p *Printer) Linked(e batch.Event) {
	if !p.Quiet {
		p.tell("", event{URL: e.URL.Redacted(), Path: e.Task.Path, Text: "leads to " + e.Link + ", not followed"})
	}
}

// Failed reports why a URL could not be retrieved. subject is the URL without
// its password; rest follows the reason.
func (p *Printer) Failed(subject string, err error, rest string) {
	p.failed(event{URL: subject}, err, rest)
}

// failed is Failed with what is known about the transfer.
func (p *Printer) failed(e event, err error, rest string) {
	what, code := p.explain(err)
	if what == "" {
		return
	}
	what = OneLine(what + rest)
	if p.Progress == JSON {
		var malformed *urlparse.Error
		if e.URL == "" && errors.As(err, &malformed) {
			e.URL = malformed.Input
		}
		e.Event, e.Error, e.Code = "error", what, code
		p.emit(e)
		return
	}
	if e.URL != "" {
		what = printable.Line(e.URL) + ": " + what
	}
	p.Line("ftpfetch: %s", what)
}

// Trace returns what is told about the dialogue: the user, or only the lines at the
// bottom of the terminal. It is nil if nobody wants to know.
func (p *Printer) Trace() func(ftpexec.Event) {
	bar := p.mode(false) == Bar
	switch {
	case bar && p.Verbose:
		return func(e ftpexec.Event) { p.waits.event(e); p.event(e) }
	case bar:
		return p.waits.event
	case p.Verbose:
		return p.event
	}
	return nil
}

// event shows the dialogue with the server as curl -v does. It marks a command
// that travels in the same flight as the one before with ">>", and lines of
// all connections but the first with "[2]" and so on.
func (p *Printer) event(e ftpexec.Event) {
	p.mu.Lock()
	before := p.last
	p.last = e
	p.mu.Unlock()
	before.Text = e.Text
	mark, conn := string(e.Mark), ""
	if e.Mark == '>' && e == before {
		mark = ">>"
	}
	if e.Conn > 1 {
		conn = fmt.Sprintf("[%d] ", e.Conn)
	}
	p.Line("%s %s%s", mark, conn, OneLine(e.Text))
}

// Bytes returns "1 byte" or "n bytes".
func Bytes(n int64) string { return counted(n, "byte", "bytes") }

// counted returns, for example, "1 link" or "2 links".
func counted(n int64, one, more string) string {
	if n == 1 {
		more = one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// OneLine shortens and escapes text that may come from a server, for use within
// a line of output. Line ends become " / ".
func OneLine(s string) string {
	const most = 1000
	s = strings.ReplaceAll(strings.TrimRight(s, "\r\n"), "\r\n", "\n")
	s = strings.ReplaceAll(s, "\n", " / ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return printable.Line(s)
}
