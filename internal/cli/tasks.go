package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"math"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/urlparse"
)

// complete adds to a URL what it leaves open and the flags give.
func (r *run) complete(u *urlparse.URL) error {
	if err := r.logIn(u); err != nil {
		return err
	}
	if u.Type == "" && u.Name != "" { // one that names no file stays a directory
		u.Type = r.typeOf(u.Name)
	}
	if u.Scheme == urlparse.FTP {
		switch r.TLS {
		case "explicit":
			u.Scheme = urlparse.FTPES
		case "implicit":
			u.Scheme = urlparse.FTPS
		}
	}
	return cmp.Or(r.passes(u), u.Check())
}

// logIn adds the user to a URL that names none, of -u or the netrc file. The password of -u goes with one who has none.
func (r *run) logIn(u *urlparse.URL) error {
	if u.User != nil {
		_, has := u.User.Password()
		if !has && r.User != nil && u.User.Username() == r.User.Username() {
			u.User = r.User
		}
		return nil
	}
	u.User = r.User
	if u.User != nil || !r.logins.names {
		return nil
	}
	r.logins.warn()
	if user, ok := r.logins.file.User(u.Host); ok {
		u.User = url.User(user)
	}
	return r.logins.unusable
}

func (r *run) typeOf(name string) urlparse.Typecode {
	if r.Type == "guess" {
		return urlparse.GuessType(name)
	}
	return urlparse.Typecode(r.Type)
}

// passes refuses a URL that cannot go through its proxy as the flags say.
func (r *run) passes(u *urlparse.URL) error {
	switch {
	case !r.via.For(u.Address()):
	case r.Client.Active: // the server cannot connect back through it
		return config.Usage("--mode active does not work through the proxy %s: leave out --mode, or write --proxy none", r.via)
	case !r.ProxyGet || u.Scheme != urlparse.FTP:
	case u.IsDir():
		return config.Usage("--proxy get+ fetches files, and lists no directories: write the URL of a file, or leave out get+")
	case u.Type == urlparse.TypeASCII:
		return config.Usage("--proxy get+ fetches files as they are: leave out ;type=a, or get+")
	}
	return nil
}

// tasks yields what to retrieve, the files of the lists first, and reports what cannot be.
func (r *run) tasks(ctx context.Context) iter.Seq[batch.Task] {
	return func(yield func(batch.Task) bool) {
		next := func(from string, t batch.Task, err error) bool { // from is the list or URL
			switch {
			case r.ended(ctx):
				return false
			case err == nil:
				return yield(t)
			}
			r.fail(from, err)
			r.lost++
			return true
		}
		for _, l := range r.lists {
			if !r.listed(l, next) {
				return
			}
		}
		for i, t := range r.Targets {
			r.at = i
			task, err := r.task(t)
			if !next(t.URL.Redacted(), task, r.explained(ctx, t.URL, err)) {
				return
			}
		}
	}
}

// listed calls next for each file of a list. It returns false if next does.
func (r *run) listed(l *list, next func(from string, t batch.Task, err error) bool) bool {
	left := l.files
	for item, err := range manifest.Read(l.text(), l.options) {
		if err == nil {
			left--
		}
		for i := 0; i < len(item.URLs) && err == nil; i++ {
			err = r.complete(item.URLs[i])
		}
		if !next(l.name, batch.Task{Item: item}, err) {
			return false
		}
	}
	if left <= 0 {
		return true
	}
	err := &localfile.Error{Reason: "has become shorter during the run: run the command again with the whole list"}
	return next(l.name, batch.Task{}, err)
}

// known returns how many files there are and their bytes, as far as that is known in advance; -1 means unknown.
func (r *run) known() (files, bytes int64) {
	for _, l := range r.lists {
		files += int64(l.files)
		if l.octets < 0 || bytes < 0 || l.octets > math.MaxInt64-bytes {
			bytes = -1
		} else {
			bytes += l.octets
		}
	}
	for _, t := range r.Targets {
		if t.Pattern != "" || r.Recursive {
			return -1, -1
		}
		files++
		bytes = -1
	}
	return files, bytes
}

// task returns what a URL of the command line asks for. The Path of one URL after another is as [run.path] returns it.
func (r *run) task(t config.Target) (task batch.Task, err error) {
	u := t.URL
	tree := r.Tree
	names := slices.Clone(t.Under)
	task.Item = manifest.Item{URLs: []*urlparse.URL{u}, Sum: r.File.Sum}
	if r.Type != "d" {
		tree.Type = r.typeOf
	}
	switch {
	case t.Pattern != "":
		task.Tree = &tree
		tree.Names = t.Pattern
		if !r.Recursive {
			tree.Depth = 1
		}
		if tree.Depth > 0 {
			tree.Depth += strings.Count(t.Pattern, "/")
		}
	case r.Recursive:
		task.Tree = &tree
		if r.Dir == "" || len(r.Targets) > 1 {
			name := path.Base("/" + strings.Join(append(slices.Clone(u.Dirs), u.Name), "/")) // "/" for the login directory
			names = append(names, strings.Replace(name, "/", u.Host, 1))
		}
	case r.Info || r.DryRun && !r.Many: // nothing is saved
		return task, nil
	case !r.Many:
		task.Path, err = r.path(u)
		return task, err
	case u.IsDir():
		return task, &ftpexec.Error{Op: "open", URL: u.Redacted(), Err: ftpexec.ErrIsDirectory, Hint: "-r fetches what is in it"}
	default:
		names = append(names, u.Name)
	}
	for i := 0; i < len(names) && err == nil; i++ {
		names[i], err = localName(names[i])
	}
	task.Path = path.Join(names...)
	return task, err
}

func localName(name string) (string, error) {
	if why := localfile.Unusable(name); why != "" {
		return "", &localfile.Error{Path: name, Reason: why, Err: localfile.ErrName}
	}
	return name, nil
}

// path returns where to save u, or "-" for standard output. No two URLs of a run share a path: the second would replace
// the first.
func (r *run) path(u *urlparse.URL) (string, error) {
	listed := u.IsDir() || r.Long
	if listed && (r.File.Verify || r.File.Sum.Algorithm != "") {
		return "", config.Usage("--checksum and --verify are for files, but the URL names a directory")
	}
	if r.Output == "-" || listed && r.Output == "" {
		return "-", nil
	}
	name := r.Output
	var err error
	if name == "" {
		name, err = localName(u.Name)
	}
	path := name
	if r.Dir != "" {
		path = filepath.Join(r.Dir, name)
	}
	if r.Output != "" {
		err = named(path, os.IsPathSeparator(name[len(name)-1]))
	}
	switch {
	case err != nil:
		return "", err
	case r.saved[path]:
		return "", &localfile.Error{Path: path, Reason: "was written for an earlier URL of this run"}
	}
	return path, nil
}

// named refuses the path of -o if it is a directory, as one that ends in a separator is, or is in none.
func named(path string, separated bool) error {
	info, err := os.Stat(path)
	if separated || err == nil && info.IsDir() {
		dir := cmp.Or(strings.TrimRight(filepath.ToSlash(path), "/"), "/")
		return &localfile.Error{Path: path, Reason: "names a directory: write -d " + dir + " to save in it"}
	}
	dir, name := filepath.Split(path)
	dir = filepath.Clean(dir)
	if _, err := os.Stat(dir); os.IsNotExist(err) {
		instead := "write -d " + filepath.ToSlash(dir) + " -o " + name
		return &localfile.Error{Reason: "there is no directory " + dir + ": " + instead + ", which creates it"}
	}
	return nil
}

// list is a list of files (-i, --manifest).
type list struct {
	name    string   // for messages
	file    *os.File // is read twice: a regular file, or a copy of what can be read only once
	copied  bool     // no name leads to it, where the system allows that
	options manifest.Options
	files   int   // that it names
	octets  int64 // their size together; -1 if it is not known
}

func (l *list) text() io.Reader { return io.NewSectionReader(l.file, 0, math.MaxInt64) }

// check completes the URLs of the command line and reads all lists. All that is wrong with them is reported before
// anything is fetched. The place of a lone file shows at its turn, when its directory is there.
func (r *run) check(ctx context.Context) {
	for _, t := range r.Targets {
		from, err := "", t.Err // which shows the text itself
		if err == nil {
			err = r.complete(t.URL)
		}
		if err == nil && len(r.Targets) > 1 {
			from = t.URL.Redacted()
			_, err = r.task(t)
			err = r.explained(ctx, t.URL, err)
		}
		r.fail(from, err)
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
			r.fail("", err) // which shows no password
			return
		}
	}
	if err == nil {
		err = await(ctx, func() error {
			l.files, l.octets, wrong = manifest.Check(l.text(), l.options)
			return nil
		})
	}
	r.fail("", localfile.Failure(name, "cannot be read", err))
	if err != nil {
		return
	}
	for _, err := range wrong {
		if errors.Is(err, errors.ErrUnsupported) { // what the list is read without
			r.print.Tell(l.name + ": " + err.Error())
		} else {
			r.fail(l.name, err)
		}
	}
	if wrong == nil && l.files == 0 && l.options.Shard[1] == 0 {
		r.print.Warn(l.name + " names no file")
	}
}

// retrieveList makes a copy of a list on a server, whole. The files that it names without a URL are in its directory.
func (r *run) retrieveList(ctx context.Context, l *list) bool {
	u, err := urlparse.Parse(l.name)
	if err == nil {
		l.name = u.Redacted()
		err = r.complete(u)
	}
	if err != nil {
		r.fail("", err)
		return false
	}
	ctx, cancel := r.limit(ctx)
	defer cancel()
	err = l.fill(ctx, func(w io.Writer) error {
		o := download.Options{Retries: r.File.Retries, RetryConnect: r.File.RetryConnect}
		_, err := download.To(ctx, r.source, u, w, &o)
		return err
	})
	if l.options.Base == nil {
		base := *u
		base.Name = ""
		base.Type = ""
		l.options.Base = &base
	}
	r.failed(ctx, u, err)
	return err == nil
}

// open opens a list here. Of a pipe it makes a copy.
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

// copy makes a copy of what can be read only once.
func (l *list) copy(ctx context.Context, from io.Reader) error {
	return l.fill(ctx, func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
}

// fill has write write the list to a file that only this run has.
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

// mostPiped bounds the bytes of a list from a pipe or device: a device may have no end. It is a variable for a test.
var mostPiped = 1 << 30
