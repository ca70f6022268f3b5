package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/internal/mirror"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/internal/retry"
	"example.com/ftpfetch/internal/urls"
	"example.com/ftpfetch/urlparse"
)

func (r *run) again(ctx context.Context, f func() error) error {
	tell := func(err error, try int, wait time.Duration) {
		r.print.Tell(fmt.Sprintf("%s; trying again in %.1f s (%d of %d)",
			show.OneLine(err.Error()), wait.Seconds(), try, retry.Count(r.File.Retries)))
	}
	policy := retry.Policy{Retries: r.File.Retries, Tell: tell}
	return retry.New(policy).Do(ctx, f)
}

// commands prints the commands that u means.
func (r *run) commands(u *urlparse.URL) error {
	told := u.IsDir() && (r.Long || show.IsTerminal(r.print.Out) && u.Type != urlparse.TypeDir)
	plan, err := ftpexec.Plan(r.charset.sent(u))
	if err == nil && told {
		plan[len(plan)-1] = ftpexec.Command{Verb: "MLSD"}
	}
	for i := range plan {
		r.print.Print(fmt.Appendln(nil, plan[i]))
	}
	if err == nil && told {
		r.print.Tell(u.Redacted() + ": a server without MLSD is sent LIST; what follows depends on the listing")
	}
	return err
}

// noDirectory replaces the error of a listing if u, which does not end as the URL of a directory, names a file.
func (r *run) noDirectory(ctx context.Context, u *urlparse.URL, err error) error {
	if e, ok := errors.AsType[*ftpexec.Error](err); !ok || e.Stage != ftpexec.StageDirectory || u.IsDir() {
		return err
	}
	if _, serr := r.source.Stat(ctx, u); serr != nil {
		return err
	}
	flag := "-l"
	if r.JSON {
		flag = "--json"
	}
	return config.Usage("it is a file: leave out %s to fetch it; -I shows its size and time", flag)
}

// lineOf returns the line for an entry. Bytes in names of JSON that are not UTF-8 become U+FFFD; the URL names it exactly.
func (r *run) lineOf(e ftpexec.Entry, terminal bool) []byte {
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
	switch {
	case r.JSON:
		return printable.JSON(rowOf(e))
	case r.Long:
		kind, mode := cmp.Or(kinds[e.Mode.Type()].letter, "?"), "?????????" // as in ls(1)
		if e.HasPerm {
			mode = e.Mode.Perm().String()[1:]
		}
		if terminal && r.print.Narrow() {
			return fmt.Appendf(nil, "%s %9s  %-10.10s  %s\n", kind, r.size(e.Size), timeOf(e), name)
		}
		r.zoneless = r.zoneless || e.Local
		return fmt.Appendf(nil, "%s%s %12s  %-20s  %s\n", kind, mode, r.size(e.Size), timeOf(e), name)
	}
	return []byte(name + "\n")
}

// colored returns a name of this type as a terminal shows it.
func (r *run) colored(of fs.FileMode, name string) string {
	switch of {
	case fs.ModeDir:
		return r.print.Paint(show.Blue, name)
	case fs.ModeSymlink:
		return r.print.Paint(show.Cyan, name)
	}
	return name
}

// row is an entry in JSON, or what -I prints about a file. It lacks what is not known.
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
	Error     string `json:"error,omitempty"` // a line that cannot be read, and why
}

func rowOf(e ftpexec.Entry) row {
	x := row{
		Name:   e.Name,
		URL:    urls.WithoutPassword(e.URL).String(),
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

// kinds are the letters of ls(1) for the types of entries, and the names in JSON of those that are not special.
var kinds = map[fs.FileMode]struct{ letter, name string }{
	0: {"-", "file"}, fs.ModeDir: {"d", "directory"}, fs.ModeSymlink: {"l", "link"}, fs.ModeIrregular: {"?", "unknown"},
	fs.ModeNamedPipe:                  {letter: "p"},
	fs.ModeSocket:                     {letter: "s"},
	fs.ModeDevice:                     {letter: "b"},
	fs.ModeDevice | fs.ModeCharDevice: {letter: "c"},
}

func (r *run) size(n int64) string {
	switch {
	case n < 0:
		return "-"
	case r.Human:
		return printable.Size(n)
	}
	return strconv.FormatInt(n, 10)
}

// precision returns how exactly the time of an entry is known, and the form of such a time; "" if it is not known.
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

// timeOf returns the time of an entry as far as it is known, without a zone if it is the server's local time.
func timeOf(e ftpexec.Entry) string {
	name, form := precision(e)
	if name != "" && name != "day" && !e.Local {
		form += "Z"
	}
	return cmp.Or(e.ModTime.Format(form), "-")
}

// listing is a Source that prints entries of the directories that it lists.
type listing struct {
	download.Source
	run *run
}

// Stat says that nothing is known in advance.
func (listing) Stat(context.Context, *urlparse.URL) (ftpexec.Entry, error) {
	return ftpexec.Entry{Size: -1}, nil
}

// Do lists the directory from the beginning.
func (l listing) Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	if req.Offset > 0 {
		return nil, ftpexec.ErrNoRestart
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(l.run.listDir(ctx, req.URL, w, false)) }()
	return &ftpexec.Response{Body: r, Size: -1}, nil
}

// infos prints what servers tell about files (-I): their sizes and times, in the order of the URLs.
func (r *run) infos(ctx context.Context) {
	const most = 512         // files to ask about at once, to keep the memory flat
	var some []*urlparse.URL // of one login
	for t := range r.tasks(ctx) {
		u := t.URLs[0]
		if len(some) == most || len(some) > 0 && !urls.SameLogin(some[0], u) {
			r.about(ctx, some)
			some = nil
		}
		some = append(some, u)
	}
	r.about(ctx, some)
}

// about prints what the server tells about files of one login. One that fails to serve is not asked about the others.
func (r *run) about(ctx context.Context, some []*urlparse.URL) {
	for len(some) > 0 && !r.ended(ctx) {
		if r.gone != nil && urls.SameLogin(r.gone, some[0]) {
			r.print.Line("ftpfetch: %s: %d more files of this server are not asked about",
				printable.Line(some[0].Host), len(some))
			return
		}
		n, err := r.askAll(ctx, some)
		some = some[n:]
		if err == nil {
			return
		}
		r.failed(ctx, some[0], err)
		if retry.NoService(err) {
			r.gone = some[0]
		}
		some = some[1:]
	}
}

// askAll asks about files of one login, each within --max-time. It returns how many are done, and what stopped it.
func (r *run) askAll(ctx context.Context, urls []*urlparse.URL) (n int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answered := func() {}
	if r.MaxTime > 0 {
		late := time.AfterFunc(r.MaxTime, func() { cancel(r.tooLong()) })
		defer late.Stop()
		answered = func() { late.Reset(r.MaxTime) }
	}
	err = r.again(ctx, func() error {
		var failure error // of one file if the iteration goes on
		for e, err := range r.source.StatAll(ctx, urls[n:]) {
			if failure != nil {
				r.failed(ctx, urls[n], failure)
				n++
			}
			failure = err
			if err == nil {
				r.print.Print(r.infoLine(urls[n], e))
				if err := r.print.Lost(); err != nil {
					return err
				}
				n++
			}
			answered()
		}
		return failure
	})
	return n, err
}

func (r *run) infoLine(u *urlparse.URL, e ftpexec.Entry) []byte {
	e.URL = u
	x := rowOf(e)
	if !r.JSON {
		r.zoneless = r.zoneless || e.Local
		return fmt.Appendf(nil, "%s\t%s\t%s\n", r.size(e.Size), timeOf(e), x.URL)
	}
	x.Name = ""
	x.Type = ""
	x.Mode = ""
	x.Target = ""
	if !e.Local && e.Precision <= time.Second {
		x.Precision = ""
	}
	return printable.JSON(x)
}

// teller is the source of trees of which only is printed what listings tell, and how much that is (-I with -r or --glob).
type teller struct {
	*mirror.Source
	run            *run
	files, unknown int64 // files; those of unknown size, or of one that no sum can hold
	octets         int64
	all            []ftpexec.Entry // to be sorted
}

// Tell takes what is told about a file.
func (i *teller) Tell(u *urlparse.URL, e ftpexec.Entry) {
	i.files++
	if e.Size < 0 || e.Size > math.MaxInt64-i.octets {
		i.unknown++
	} else {
		i.octets += e.Size
	}
	e.Name = u.String()
	e.URL = u
	if i.run.Sort != "" && i.run.Sort != "none" {
		i.all = append(i.all, e)
	} else {
		i.print(e)
	}
}

func (i *teller) print(e ftpexec.Entry) {
	i.run.print.Print(i.run.infoLine(e.URL, e))
}

// total is how much there is in trees: the last line of -I -r --json.
type total struct {
	Type    string `json:"type"` // total
	Files   int64  `json:"files"`
	Size    int64  `json:"size"`              // bytes of the files whose size is known
	Unknown int64  `json:"unknown,omitempty"` // files whose size is not
	Whole   bool   `json:"whole"`             // all trees were listed completely
}

// end prints what is to be sorted, and how much all of it is. whole says that all trees were listed.
func (i *teller) end(ctx context.Context, whole bool) {
	r := i.run
	slices.SortStableFunc(i.all, func(a, b ftpexec.Entry) int { return compare(r.Sort, a, b) })
	if r.Reverse {
		slices.Reverse(i.all)
	}
	for _, e := range i.all {
		i.print(e)
	}
	if r.ended(ctx) || i.files == 0 && !whole {
		return
	}
	if r.JSON {
		all := total{Type: "total", Files: i.files, Size: i.octets, Unknown: i.unknown, Whole: whole}
		r.print.Print(printable.JSON(all))
		return
	}
	text := printable.Count(i.files, "file", "files")
	if i.unknown > 0 {
		text += fmt.Sprintf(", %d of them of unknown size", i.unknown)
	}
	if !whole {
		text += ", not all of the tree"
	}
	r.print.Print(fmt.Appendf(nil, "%s\t%s\ttotal\n", r.size(i.octets), text))
}
