package cli

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

const (
	lookAround = 5 * time.Second // how long a hint may take
	mostBeside = 20_000          // entries of a directory that a hint reads
	longest    = 255             // length of a name, in bytes
	mostShown  = 5               // names that are shown
	mostLooks  = 3               // failures that get such a hint
)

// near returns a hint about what the server has in place of what u names, if that is missing, or "". It lists the
// directory in which the first segment of the path is missing.
func (r *run) near(ctx context.Context, u *urlparse.URL, err error) string {
	dir, name, entering := missingOf(u, err)
	if dir == nil || r.Quiet || mayBePattern(u) || r.Many && len(r.Targets) != 1 || r.looks.Add(1) > mostLooks {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, lookAround)
	defer cancel()
	found := beside{name: name, last: u.Name == "" && len(dir.Dirs) == len(u.Dirs)-1}
	n := 0
	for e, err := range r.source.Entries(ctx, dir) {
		n++
		if n > mostBeside || err != nil && !errors.Is(err, ftpexec.ErrLine) {
			break
		}
		if err == nil {
			found.add(e)
		}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		r.looks.Store(mostLooks) // one timeout is enough
	}
	return found.hint(dir, entering)
}

// missingOf returns the directory in which, according to err, a name of u's path is missing, and that name. entering
// says that the name should be a directory.
func missingOf(u *urlparse.URL, err error) (dir *urlparse.URL, name string, entering bool) {
	e, ok := errors.AsType[*ftpexec.Error](err)
	if !ok || e.Code != 550 && e.Code != 450 {
		return nil, "", false
	}
	way := slices.Clone(u.Dirs)
	if u.Name != "" {
		way = append(way, u.Name)
	}
	at := len(way) - 1
	arg, entering := strings.CutPrefix(e.Op, "CWD ")
	switch {
	case entering:
		at = slices.Index(way, arg)
	case !errors.Is(err, ftpexec.ErrNotFound):
		return nil, "", false
	}
	if at < 0 {
		return nil, "", false
	}
	above := *u
	above.Dirs = way[:at]
	above.Name = ""
	above.Type = ""
	return &above, way[at], entering
}

// beside has the names in a directory that are like a missing name.
type beside struct {
	name string
	last bool         // the URL ends in the name and a "/"
	some bool         // the directory is not empty
	here *fs.FileMode // the type of the entry with that very name, if there is one
	like [4][]string  // the similar names, the likeliest first; directories end in "/"
	dirs []string     // the first directories
}

func (b *beside) add(e ftpexec.Entry) {
	b.some = true
	name := path.Base(e.Name)
	if len(name) > longest {
		return
	}
	if name == b.name {
		mode := e.Mode
		b.here = &mode
		return
	}
	shown := name
	if e.Mode.IsDir() {
		shown += "/"
		if len(b.dirs) <= mostShown {
			b.dirs = append(b.dirs, shown)
		}
	}
	if rank := likeness(b.name, name); rank >= 0 && len(b.like[rank]) <= mostShown {
		b.like[rank] = append(b.like[rank], shown)
	}
}

// likeness returns how a name is like the one that the user wrote: 0 in other case, 1 in another encoding of its bytes,
// 2 with a letter more, less, changed or out of place, 3 with another ending; -1 if it is not like it.
func likeness(wrote, name string) int {
	decoded, err := url.PathUnescape(wrote)
	asWritten, werr := url.PathUnescape(name) // the name has a "%" that stood in the URL as it is
	switch {
	case strings.EqualFold(wrote, name):
		return 0
	case err == nil && strings.EqualFold(decoded, name), latin1(wrote) == name, wrote == latin1(name),
		strings.ReplaceAll(wrote, "+", " ") == name, werr == nil && asWritten == wrote:
		return 1
	case len(wrote) > 2 && oneOff([]rune(strings.ToLower(wrote)), []rune(strings.ToLower(name))):
		return 2
	case strings.HasPrefix(name, wrote+"."), strings.HasPrefix(wrote, name+"."):
		return 3
	}
	return -1
}

// latin1 returns UTF-8 text in Latin-1, or "" if it cannot be encoded in that.
func latin1(text string) string {
	if !utf8.ValidString(text) {
		return ""
	}
	octets := make([]byte, 0, len(text))
	for _, letter := range text {
		if letter > 0xff {
			return ""
		}
		octets = append(octets, byte(letter))
	}
	return string(octets)
}

// oneOff reports whether adding, dropping or changing a letter, or swapping two neighbours, turns a into b.
func oneOff(a, b []rune) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a = a[1:]
		b = b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a = a[:len(a)-1]
		b = b[:len(b)-1]
	}
	swapped := len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
	return len(a) <= 1 && len(b) <= 1 || swapped
}

// hint says what dir has. entering says that the name should be a directory.
func (b *beside) hint(dir *urlparse.URL, entering bool) string {
	if b.here != nil {
		return b.found(dir, entering)
	}
	for _, names := range b.like {
		if len(names) > 0 {
			return "There is " + listed(dir, names)
		}
	}
	if !entering || !b.some {
		return ""
	}
	text := "There is no " + printable.Line(b.name) + " in " + dir.Redacted()
	if len(b.dirs) > 0 {
		text += ", but " + listed(nil, b.dirs)
	}
	return text
}

// found says what the entry with the very name is.
func (b *beside) found(dir *urlparse.URL, entering bool) string {
	switch {
	case !entering && b.here.IsDir():
		return "It is a directory: write " + dir.Child(b.name, "").Redacted() + "/"
	case !entering && b.here.Type() == fs.ModeSymlink:
		return `It is a link. If it leads to a directory, end the URL in "/"`
	case entering && b.here.IsRegular() && b.last:
		return `It is a file: leave out the last "/", and write ` + dir.Child(b.name, "").Redacted()
	case entering && b.here.IsRegular():
		return printable.Line(b.name) + " is a file"
	case strings.HasPrefix(b.name, "-"):
		return printable.Line(b.name) + " is there, but the server may take it for an option: write " +
			b.joined(dir, entering)
	case entering && b.here.IsDir():
		return printable.Line(b.name) + " is there, but this login may not enter it"
	}
	return ""
}

// joined returns the URL of the entry b.name of dir in which one command names it together with its directory: the
// name is then not the first thing that the server reads.
func (b *beside) joined(dir *urlparse.URL, entering bool) string {
	u := *dir
	before := "."
	if last := len(u.Dirs) - 1; last >= 0 {
		before = u.Dirs[last]
		u.Dirs = u.Dirs[:last]
	}
	name := before + "/" + b.name
	if entering {
		return u.Child(name, urlparse.TypeDir).Redacted()
	}
	return u.Child(name, "").Redacted()
}

// listed returns names as people read them: as URLs in dir, unless dir is nil.
func listed(dir *urlparse.URL, names []string) string {
	shown := make([]string, 0, len(names))
	for _, name := range names[:min(len(names), mostShown)] {
		of, isDir := strings.CutSuffix(name, "/")
		switch {
		case dir == nil:
			name = printable.Line(name)
		case isDir:
			name = dir.Child(of, urlparse.TypeDir).Redacted()
		default:
			name = dir.Child(of, "").Redacted()
		}
		shown = append(shown, name)
	}
	if len(names) > mostShown {
		shown = append(shown, "more")
	}
	return strings.Join(shown, ", ")
}
