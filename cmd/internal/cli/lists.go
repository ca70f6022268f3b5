package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/urlparse"
)

// list is a list of files (-i, --manifest).
type list struct {
	name    string   // for messages
	file    *os.File // read twice: a regular file, or a copy of what can be read only once
	copied  bool     // file is a copy, and has no name where the system allows that
	options manifest.Options
	files   int   // number of files that the list names
	octets  int64 // their total size; -1 if it is not known
}

func (l *list) text() io.Reader { return io.NewSectionReader(l.file, 0, math.MaxInt64) }

// checkInput completes the URLs of the command line and reads all lists. It reports every mistake before anything is
// fetched. The local path of a lone file is checked when it is its turn, because then its directory exists.
func (r *run) checkInput(ctx context.Context) {
	for _, t := range r.Targets {
		from, err := "", t.Err // its text shows the URL
		if err == nil {
			err = r.completeURL(t.URL)
		}
		if err == nil && len(r.Targets) > 1 {
			from = t.URL.Redacted()
			_, err = r.task(t)
			err = r.explained(ctx, t.URL, err)
		}
		r.printError(from, err)
	}
	for _, name := range []string{r.Manifest, r.Input} {
		if name != "" {
			r.checkList(ctx, name)
		}
	}
}

func (r *run) checkList(ctx context.Context, name string) {
	l := &list{name: name, options: r.Reading}
	r.lists = append(r.lists, l)
	var wrong []error
	var err error
	switch {
	case name == "-":
		l.name = "standard input"
		err = l.copy(ctx, r.In)
	case strings.Contains(name, "://"):
		if !r.retrieveList(ctx, l) {
			return
		}
	default:
		err = l.open(ctx)
		if errors.Is(err, fs.ErrNotExist) && strings.Contains(name, "@") {
			_, err = urlparse.Parse(name)
			r.printError("", err) // the error shows no password
			return
		}
	}
	if err == nil && l.isKey() {
		r.printError("", &localfile.Error{Path: l.name, Reason: "is a key or a certificate, not a list"})
		return
	}
	if err == nil {
		err = await(ctx, func() error {
			l.files, l.octets, wrong = manifest.Check(l.text(), &l.options)
			return nil
		})
	}
	r.printError("", localfile.Failure(l.name, "cannot be read", err))
	if err != nil {
		return
	}
	for _, err := range wrong {
		if errors.Is(err, errors.ErrUnsupported) { // the list is used without what is not supported
			r.print.Tell(l.name + ": " + err.Error())
		} else {
			r.printError(l.name, err)
		}
	}
	r.tellColumns(wrong)
	if wrong == nil && l.files == 0 && l.options.Shard.Of == 0 {
		r.print.Warn(l.name + " names no file")
	}
}

// isKey reports whether the list is a file of PEM or of OpenSSH, whose lines no message may show.
func (l *list) isKey() bool {
	begin := make([]byte, len("-----BEGIN "))
	_, err := io.ReadFull(l.text(), begin)
	return err == nil && string(begin) == "-----BEGIN "
}

// tellNothing says after a mistake that nothing was fetched, if the command fetches and names files without one.
func (r *run) tellNothing() {
	if r.OnlyShows() {
		return
	}
	if len(r.Targets) > 1 || slices.ContainsFunc(r.lists, func(l *list) bool { return l.files > 0 }) {
		r.print.Tell("nothing was fetched")
	}
}

// tellColumns shows the command that reads a list whose columns are not clear.
func (r *run) tellColumns(wrong []error) {
	for _, err := range wrong {
		if columns, ok := errors.AsType[*manifest.ColumnsError](err); ok && r.Reading.Map == nil {
			r.print.Tell("as one command: ftpfetch --map " + columns.Map + r.Written())
			return
		}
	}
}

// retrieveList copies a list from a server. The files that the list names without a URL are in the list's directory.
func (r *run) retrieveList(ctx context.Context, l *list) bool {
	u, err := urlparse.Parse(l.name)
	if err == nil {
		l.name = u.Redacted()
		err = r.completeURL(u)
	}
	if err != nil {
		r.printError("", err)
		return false
	}
	ctx, cancel := r.limit(ctx)
	defer cancel()
	err = l.fill(ctx, func(w io.Writer) error {
		o := download.Options{Retries: r.File.Retries, RetryUnreached: r.File.RetryUnreached}
		_, err := download.To(ctx, r.source, u, w, &o)
		return err
	})
	if l.options.Base == nil {
		base := *u
		base.Name = ""
		base.Type = ""
		l.options.Base = &base
	}
	r.printErrorOf(ctx, u, err)
	return err == nil
}

// open opens a local list. It copies a pipe.
func (l *list) open(ctx context.Context) error {
	f, err := os.Open(l.name)
	if err != nil {
		return err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		l.file = f
		return nil
	}
	defer f.Close()
	return l.copy(ctx, f)
}

// copy copies what can be read only once.
func (l *list) copy(ctx context.Context, from io.Reader) error {
	return l.fill(ctx, func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
}

// fill has write write the list to a file that only this run uses.
func (l *list) fill(ctx context.Context, write func(io.Writer) error) error {
	file, err := os.CreateTemp("", ".ftpfetch-list-")
	if err != nil {
		return err
	}
	_ = os.Remove(file.Name()) // fails on Windows while the file is open
	l.file = file
	l.copied = true
	left := mostPiped
	bounded := writer(func(text []byte) (int, error) {
		if left -= len(text); left < 0 {
			return 0, errors.New("it is longer than 1 GiB: save it as a file")
		}
		return file.Write(text)
	})
	return await(ctx, func() error { return write(bounded) })
}

// mostPiped bounds the bytes of a list from a pipe or device: a device may have no end. A test changes it.
var mostPiped = 1 << 30
