package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/ftpfetch/cmd/internal/cli/config"
	"example.com/ftpfetch/cmd/internal/cli/show"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// noDirectory replaces the error of a listing if u names a file, and is not written as the URL of a directory.
func (r *run) noDirectory(ctx context.Context, u *urlparse.URL, err error) error {
	if e, ok := errors.AsType[*ftpexec.Error](err); !ok || e.Stage != ftpexec.StageDirectory || u.IsDir() {
		return err
	}
	if e, serr := r.source.Stat(ctx, u); serr != nil || e.Size < 0 && e.ModTime.IsZero() { // nothing shows a file
		return err
	}
	flag := "-l"
	if r.JSON {
		flag = "--json"
	}
	return config.Usage("it is a file: leave out %s to fetch it; -I shows its size and time", flag)
}

// appendLine appends the line for an entry to line. modes says that -l shows permissions. In JSON, bytes of names that
// are not UTF-8 become U+FFFD; the URL names the entry exactly.
func (r *run) appendLine(line []byte, e ftpexec.Entry, terminal, modes bool) []byte {
	if r.JSON {
		return append(line, printable.JSON(rowOf(e))...)
	}
	if r.Long {
		narrow := terminal && r.print.Narrow()
		line = r.appendFacts(line, e, narrow, modes && !narrow)
	}
	name := e.Name
	switch {
	case r.Long && e.Target != "":
		name += " -> " + e.Target
	case e.Mode.IsDir() && (r.Long || terminal) && !strings.HasSuffix(name, "/"):
		name += "/"
	}
	if terminal {
		name = r.colored(e.Mode.Type(), printable.Line(name))
	}
	return append(append(line, name...), '\n')
}

// appendFacts appends what stands before the name in a line of -l: less on a narrow terminal.
func (r *run) appendFacts(line []byte, e ftpexec.Entry, narrow, modes bool) []byte {
	line = append(line, cmp.Or(kinds[e.Mode.Type()].letter, "?")...)
	size, at := 9, 10
	if !narrow {
		size, at = 12, 20
		r.zoneless = r.zoneless || e.Local
	}
	if modes {
		line = appendMode(line, e)
	}
	line = append(line, ' ')
	start := len(line)
	line = r.appendSize(line, e.Size)
	if missing := size - (len(line) - start); missing > 0 { // the size is aligned on the right
		line = slices.Insert(line, start, spaces[:missing]...)
	}
	line = append(line, "  "...)
	start = len(line)
	line = appendTime(line, e)
	if narrow {
		line = line[:min(len(line), start+at)]
	}
	line = append(line, spaces[:max(0, at-(len(line)-start))]...)
	return append(line, "  "...)
}

var spaces = []byte(strings.Repeat(" ", 20))

// appendMode appends the permissions of an entry as ls(1) does.
func appendMode(line []byte, e ftpexec.Entry) []byte {
	if !e.HasPerm {
		return append(line, "?????????"...)
	}
	for i, letter := range []byte("rwxrwxrwx") {
		if e.Mode&(0o400>>i) == 0 {
			letter = '-'
		}
		line = append(line, letter)
	}
	return line
}

// colored returns a name as a terminal shows it for this type.
func (r *run) colored(of fs.FileMode, name string) string {
	switch of {
	case fs.ModeDir:
		return r.print.Paint(show.Blue, name)
	case fs.ModeSymlink:
		return r.print.Paint(show.Cyan, name)
	}
	return name
}

// row is an entry in JSON, or what -I prints about a file. It omits what is not known.
type row struct {
	Name      string `json:"name,omitempty"`
	URL       string `json:"url"`
	Type      string `json:"type,omitempty"`
	Size      *int64 `json:"size,omitempty"`
	Time      string `json:"time,omitempty"`      // RFC 3339 in UTC, or without a zone
	Precision string `json:"precision,omitempty"` // of time: day, minute, second or fraction
	Local     bool   `json:"local,omitempty"`     // the zone is not known
	Mode      string `json:"mode,omitempty"`      // permissions in octal digits
	Target    string `json:"target,omitempty"`
	Error     string `json:"error,omitempty"` // why a line cannot be read, and the line
}

func rowOf(e ftpexec.Entry) row {
	x := row{
		Name:   e.Name,
		URL:    e.URL.WithoutPassword().String(),
		Type:   cmp.Or(kinds[e.Mode.Type()].name, "special"),
		Target: e.Target,
		Local:  e.Local,
	}
	if e.Size >= 0 {
		x.Size = &e.Size
	}
	if x.Precision, _ = precision(e); x.Precision != "" {
		form := time.RFC3339Nano
		if e.Local {
			form = "2006-01-02T15:04:05.999999999"
		}
		x.Time = e.ModTime.UTC().Format(form)
	}
	if e.HasPerm {
		x.Mode = fmt.Sprintf("%04o", e.Mode.Perm())
	}
	return x
}

// kinds has the letters of ls(1) for the types of entries, and the names in JSON of the types that are not special.
var kinds = map[fs.FileMode]struct{ letter, name string }{
	0: {"-", "file"}, fs.ModeDir: {"d", "directory"}, fs.ModeSymlink: {"l", "link"}, fs.ModeIrregular: {"?", "unknown"},
	fs.ModeNamedPipe:                  {letter: "p"},
	fs.ModeSocket:                     {letter: "s"},
	fs.ModeDevice:                     {letter: "b"},
	fs.ModeDevice | fs.ModeCharDevice: {letter: "c"},
}

// size returns a size as -l and -I show it.
func (r *run) size(n int64) string { return string(r.appendSize(nil, n)) }

func (r *run) appendSize(line []byte, n int64) []byte {
	switch {
	case n < 0:
		return append(line, '-')
	case r.Human:
		return append(line, printable.Size(n)...)
	}
	return strconv.AppendInt(line, n, 10)
}

// precision returns how exactly an entry's time is known, and the layout for that; "" if the time is not known.
func precision(e ftpexec.Entry) (name, form string) {
	switch unit := e.Precision; {
	case unit == 0:
		return "", ""
	case unit >= 24*time.Hour:
		return "day", "2006-01-02"
	case unit >= time.Minute:
		return "minute", "2006-01-02T15:04"
	case unit >= time.Second:
		return "second", "2006-01-02T15:04:05"
	}
	return "fraction", "2006-01-02T15:04:05"
}

// timeOf returns the time of an entry as exactly as it is known. A server's local time has no zone.
func timeOf(e ftpexec.Entry) string { return string(appendTime(nil, e)) }

func appendTime(line []byte, e ftpexec.Entry) []byte {
	name, form := precision(e)
	if name == "" {
		return append(line, '-')
	}
	y, m, d := e.ModTime.Date()
	if y < 1000 || y > 9999 {
		line = e.ModTime.AppendFormat(line, form)
	} else { // AppendFormat takes three times as long
		hour, minute, second := e.ModTime.Clock()
		line = strconv.AppendInt(line, int64(y), 10)
		for i, part := range [...]int{int(m), d, hour, minute, second} {
			if len(form) > len("2006")+3*i {
				line = append(line, "--T::"[i], '0'+byte(part/10), '0'+byte(part%10))
			}
		}
	}
	if name != "day" && !e.Local {
		line = append(line, 'Z')
	}
	return line
}

// listing is a Source that prints the entries of the directories that it lists.
type listing struct {
	download.Source
	run  *run
	tree *download.Tree // if its patterns say what is listed
}

// Stat reports that nothing is known in advance.
func (listing) Stat(context.Context, *urlparse.URL) (ftpexec.Entry, error) {
	return ftpexec.Entry{Size: -1}, nil
}

// Do lists the directory, always from the beginning.
func (l listing) Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	if req.Offset > 0 {
		return nil, ftpexec.ErrNoRestart
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(l.run.listDir(ctx, req.URL, l.tree, w, false)) }()
	return &ftpexec.Response{Body: r, Size: -1}, nil
}
