// Package show prints everything that the command shows, and asks for passwords. Its rules:
//
//  1. Standard output gets the data, names, plans or help that the user asked for, and nothing else.
//  2. Everything else goes to standard error, in whole lines. Errors and warnings start with "ftpfetch: ", lines of
//     the dialogue with "* ", "> ", ">> " or "< ".
//  3. Text from servers, URLs and file names is escaped before it goes to standard error, so that it stays on one line
//     and does nothing to a terminal.
//  4. Names go to standard output byte for byte, unless it is a terminal: then they are escaped too.
//  5. A URL shows its password as "***". No other text shows a password.
//  6. Errors from writing to standard error are ignored. What has no reader waits: the command leaves it behind when
//     it is told to end.
package show

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// Mode is how transfers are shown: the value of --progress.
type Mode string

const (
	Auto  Mode = "" // or auto
	Bar   Mode = "bar"
	Plain Mode = "plain"
	JSON  Mode = "json"
	None  Mode = "none"
)

// Flags are the flags that say what is shown, as the command line gives them.
type Flags struct {
	Verbose, Quiet bool
	Progress       Mode
}

// Printer knows where and how to print. It is safe for concurrent use.
type Printer struct {
	Out         *output       // standard output
	Flags                     // they do not change after first use
	Dir, Report string        // values of -d and --report, for the end of a run
	Rounds      bool          // there are many runs, with one line for each
	Tree        *urlparse.URL // the only URL of the command line, or nil

	err     io.Writer
	colors  struct{ out, err bool } // which streams may show colors
	explain func(error) (text string, code int)
	now     func() time.Time

	mu      sync.Mutex // held while writing to standard error; guards what follows, and each Run
	waits   dialogue   // what the run waits for
	run     *Run       // the current run, or nil
	bottom  *Run       // the run whose rows are at the bottom of the terminal, or nil
	drawn   []int      // the width of each row on the terminal
	painted time.Time  // when the rows were drawn
	kinds   []*kind    // kinds of messages that come once for each of many things
}

// New returns a Printer for the streams. explain returns the text of an error and its exit code; no text means no
// message.
func New(stdout, stderr io.Writer, explain func(error) (text string, code int)) *Printer {
	out := &output{Writer: stdout, terminal: IsTerminal(stdout)}
	p := &Printer{Out: out, err: stderr, explain: explain, now: time.Now}
	p.colors.out = Colored(stdout)
	p.colors.err = Colored(stderr)
	return p
}

// Watched reports whether messages go to a terminal.
func (p *Printer) Watched() bool { return IsTerminal(p.err) }

// IsTerminal reports whether a stream is a terminal, or has a method IsTerminal() bool that returns true.
func IsTerminal(stream any) bool {
	switch s := stream.(type) {
	case *output:
		return s.terminal
	case interface{ IsTerminal() bool }:
		return s.IsTerminal()
	case *os.File:
		terminal := false
		ask(s, func(fd int) { terminal = term.IsTerminal(fd) })
		return terminal
	}
	return false
}

// IsNull reports whether a stream is the null device, io.Discard or nil.
func IsNull(stream any) bool {
	if f, ok := stream.(*os.File); ok {
		info, _ := f.Stat()
		null, err := os.Stat(os.DevNull)
		return err == nil && os.SameFile(info, null)
	}
	return stream == nil || stream == io.Discard
}

// IsFile reports whether standard output is the file that info describes.
func IsFile(out *output, info os.FileInfo) bool {
	f, ok := out.Writer.(*os.File)
	if !ok {
		return false
	}
	own, err := f.Stat()
	return err == nil && os.SameFile(own, info)
}

// output is standard output. It keeps its first error, marked as a local one, and writes nothing after it.
type output struct {
	io.Writer
	terminal bool // asked once, because each line of a long plan depends on it
	lost     atomic.Pointer[error]
}

func (o *output) Write(b []byte) (int, error) {
	if lost := o.lost.Load(); lost != nil {
		return 0, *lost
	}
	n, err := o.Writer.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err = localfile.Failure("standard output", "cannot be written", err); err != nil {
		o.lost.Store(&err)
	}
	return n, err
}

// Print writes text to standard output. Lost returns its error.
func (p *Printer) Print(text []byte) { _, _ = p.Out.Write(text) }

// Lost returns the error because of which standard output has lost data, or nil.
func (p *Printer) Lost() error {
	if lost := p.Out.lost.Load(); lost != nil {
		return *lost
	}
	return nil
}

// mode applies -q and resolves Auto. toTerminal says that data goes to the terminal, where rows at the bottom would
// garble it.
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
func (p *Printer) Line(format string, args ...any) {
	defer p.lock()()
	p.line(format, args...)
}

func (p *Printer) line(format string, args ...any) {
	p.draw(p.mark(fmt.Sprintf(format+"\n", args...)))
}

func (p *Printer) lock() (unlock func()) {
	p.mu.Lock()
	return p.mu.Unlock
}

// event is one line of --progress json; see docs/progress.md. A field is absent if its value is unknown or does not apply.
type event struct {
	Event    string   `json:"event"`
	Version  int      `json:"version"`
	Time     string   `json:"time"`
	URL      string   `json:"url,omitempty"`
	Path     string   `json:"path,omitempty"`
	Size     *int64   `json:"size,omitempty"`
	Offset   *int64   `json:"offset,omitempty"`
	Received *int64   `json:"received,omitempty"`
	Rate     *int64   `json:"rate,omitempty"`
	Attempt  int      `json:"attempt,omitempty"`
	Delay    *float64 `json:"delay,omitempty"`
	Seconds  *float64 `json:"seconds,omitempty"`
	Skipped  bool     `json:"skipped,omitempty"`
	Verified string   `json:"verified,omitempty"`
	Action   string   `json:"action,omitempty"`
	Text     string   `json:"text,omitempty"`
	Error    string   `json:"error,omitempty"`
	Code     int      `json:"code,omitempty"`
	Files    *int64   `json:"files,omitempty"`
	Complete *int64   `json:"complete,omitempty"`
	Failed   *int64   `json:"failed,omitempty"`
	Deleted  *int64   `json:"deleted,omitempty"`
	Once     *int64   `json:"once,omitempty"`
}

// say shows e as a line of JSON, or text as a line unless it is empty.
func (p *Printer) say(e event, text string) {
	if p.Progress == JSON {
		e.Version = 1 // raise it with each change that breaks readers
		e.Time = p.now().UTC().Format("2006-01-02T15:04:05.000Z")
		text = strings.TrimSuffix(string(printable.JSON(e)), "\n")
	}
	if text != "" {
		p.line("%s", text)
	}
}

// Note is whom a note is for. Its line begins with this text.
type Note string

const (
	Warning Note = "ftpfetch: " // for everyone: a danger in what the user asked for
	Notice  Note = ""           // not with -q
	Detail  Note = "* "         // with -v
)

// Note shows a note about the run.
func (p *Printer) Note(whom Note, text string) {
	defer p.lock()()
	p.note(whom, event{Text: text})
}

// Warn shows a note to everyone.
func (p *Printer) Warn(text string) { p.Note(Warning, text) }

// Tell shows a note to users who do not give -q.
func (p *Printer) Tell(text string) { p.Note(Notice, text) }

func (p *Printer) note(whom Note, e event) {
	few := p.Quiet || p.Rounds && p.Progress == Auto && !p.Verbose // without it, each round would say the same
	if whom == Detail && !p.Verbose || whom == Notice && few {
		return
	}
	e.Event = "note"
	e.Text = OneLine(e.Text)
	if whom == Warning {
		e.Text = "warning: " + e.Text
	}
	text := e.Text
	if e.Path != "" {
		text = printable.Line(e.Path) + ": " + text
	}
	p.sayFew(string(whom), e, text)
}

// Relay shows a line that a command of the user's has written to its standard output, as it is, except on a terminal.
func (p *Printer) Relay(line []byte) {
	if !IsTerminal(p.Out) {
		p.Print(line)
		return
	}
	shown := p.replaceBottom(nil)
	defer func() { p.replaceBottom(shown) }()
	p.Print([]byte(printable.Line(strings.TrimRight(string(line), "\r\n")) + "\n"))
}

// RelayError shows a line that a command of the user's has written to its standard error. path is that of its file.
func (p *Printer) RelayError(path string, line []byte) {
	defer p.lock()()
	text := printable.Line(strings.TrimRight(string(line), "\r\n"))
	p.say(event{Event: "note", Path: path, Text: text}, text)
}

// PrintPlan reports to programs what a run would do with a file (--progress json).
func (p *Printer) PrintPlan(action, url, path string, size *int64, reason string) {
	defer p.lock()()
	p.say(event{Event: "plan", Action: action, URL: url, Path: path, Size: size, Text: OneLine(reason)}, "")
}

// Failed reports why a URL could not be retrieved. subject is the URL without its password; rest follows the reason.
func (p *Printer) Failed(subject string, err error, rest string) {
	defer p.lock()()
	p.failed(event{URL: subject}, err, rest)
}

func (p *Printer) failed(e event, err error, rest string) {
	what, code := p.explain(err)
	if what == "" {
		return
	}
	e.Event = "error"
	e.URL = withoutHost(e.URL, err)
	e.Error = OneLine(what + rest)
	e.Code = code
	text := ""
	if e.URL != "" {
		text = printable.Line(e.URL) + ": "
	} else if malformed, ok := errors.AsType[*urlparse.Error](err); ok {
		e.URL = malformed.Input
	}
	p.sayFew("ftpfetch: ", e, text+e.Error)
}

// withoutHost returns the text of a URL whose host was not reached without what may be the end of its password, in
// "ftp://me:p@ss/word@host/f": all between the password and the last "@", with the host.
func withoutHost(shown string, err error) string {
	e, ok := errors.AsType[*ftpexec.Error](err)
	before, rest, found := strings.Cut(shown, ":***@")
	at := strings.LastIndex(rest, "%40")
	if !found || at < 0 || !ok || e.Stage != ftpexec.StageConnect {
		return shown
	}
	return before + ":***@" + rest[at+len("%40"):]
}

// kind is a kind of message, of which only the first few are shown.
type kind struct {
	words, mark, first string
	n                  int
}

// mostAlike is how many messages of a kind are shown. mostAgain is how many failed files are named again at the end.
const mostAlike, mostAgain = 5, 10

// sayFew is say for a message that may come once for each of many things. With JSON or -v, all are shown.
func (p *Printer) sayFew(mark string, e event, text string) {
	if p.Progress != JSON && !p.Verbose {
		k := p.kindOf(mark, text, e)
		k.n++
		if k.n > mostAlike {
			return
		}
	}
	p.say(e, mark+text)
}

// kindOf returns the kind of a message. The words that are not names determine it. After a hundred kinds, all others
// are one.
func (p *Printer) kindOf(mark, text string, e event) *kind {
	names := strings.NewReplacer(path.Base(cmp.Or(e.URL, "  ")), " ", filepath.Base(cmp.Or(e.Path, "  ")), " ")
	all := strings.Join(slices.DeleteFunc(strings.Fields(names.Replace(text)), isName), " ")
	for _, k := range p.kinds {
		if k.words == all {
			return k
		}
	}
	if n := len(p.kinds); n > 100 {
		return p.kinds[n-1]
	}
	k := &kind{words: all, mark: mark, first: text}
	p.kinds = append(p.kinds, k)
	return k
}

// isName reports whether a word of a message may be a name or a number. A plain word has only lower-case letters.
func isName(word string) bool { return strings.Trim(word, "abcdefghijklmnopqrstuvwxyz,;:") != "" }

// Rest says how many messages of each kind were not shown, and where to find them.
func (p *Printer) Rest(where string) {
	defer p.lock()()
	many := slices.DeleteFunc(p.kinds, func(k *kind) bool { return k.n <= mostAlike })
	for _, k := range many {
		like := where
		if len(many) > 1 {
			like = " like " + k.first + where
		}
		p.line("%s... and %d more%s", k.mark, k.n-mostAlike, like)
	}
	p.kinds = nil
}

// words replaces line ends, and replaces names of package download's options by the flags that users know.
var words = strings.NewReplacer("\r\n", " / ", "\n", " / ",
	"set Options.Base to", "--base", "set Options.Map to", "--map",
	"Options.KeepDirs", "--keep-dirs", "Options.Format", "--format", "Tree.Reject", "--reject",
	"Tree.FollowLinks", "--follow-links", "a greater Tree.Depth", "-r", "Tree.Depth", "--depth")

// OneLine shortens and escapes text that may come from a server, for use within a line of output. Line ends become " /
// ", and names of options become flags.
func OneLine(s string) string {
	const most = 1000
	s = words.Replace(strings.TrimRight(s, "\r\n"))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return printable.Line(s)
}
