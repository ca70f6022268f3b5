package cli

import (
	"cmp"
	"context"
	"iter"
	"math"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"example.com/ftpfetch/cmd/internal/cli/config"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/urlparse"
)

// completeURL adds to a URL what it lacks and the flags give. The URL and the flags were checked when they were read.
func (r *run) completeURL(u *urlparse.URL) error {
	if err := r.logIn(u); err != nil {
		return err
	}
	if u.Type == "" && u.Name != "" { // a URL that names no file remains a directory
		u.Type = r.typeOf(u.Name)
	}
	if u.Scheme == "ftp" {
		switch r.TLS {
		case "explicit":
			u.Scheme = "ftpes"
		case "implicit":
			u.Scheme = "ftps"
		}
	}
	return cmp.Or(r.passes(u), r.charset.toUTF8(u))
}

// logIn adds the user of -u or of the netrc file to a URL without a user. If the URL has the user of -u, it adds the
// password.
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
	user, ok := r.logins.file.User(u.Host)
	switch {
	case ok:
		u.User = url.User(user)
	case r.meansDryRun():
		return config.Usage("-n takes the user from the netrc file, which has none for %s: "+
			"drop -n, or write --dry-run to see what would be fetched", u.Host)
	}
	return cmp.Or(r.logins.unusable, u.Check()) // a quoted word of the file may contain a line end
}

// meansDryRun reports whether -n, which has found no user, may be rsync's and make's: a tree would be fetched.
func (r *run) meansDryRun() bool {
	tree := (r.Recursive || r.Glob) && r.lists == nil && !r.Info && !r.DryRun
	return tree && r.Netrc == config.UsualNetrc && r.logins.unusable == nil
}

func (r *run) typeOf(name string) urlparse.Typecode {
	if r.Type == "guess" {
		return urlparse.GuessType(name)
	}
	return urlparse.Typecode(r.Type)
}

// passes refuses a URL that cannot be retrieved through its proxy in the way that the flags ask for.
func (r *run) passes(u *urlparse.URL) error {
	switch {
	case !r.via.For(u.Address()):
	case r.Client.Active: // the server cannot connect back through the proxy
		text := "--mode active does not work through the proxy %s: drop --mode, or use --proxy none"
		return config.Usage(text, r.via)
	case !r.ProxyGet || u.Scheme != "ftp":
	case u.IsDir():
		return config.Usage("--proxy get+ cannot list directories: write the URL of a file, or drop get+")
	case u.Type == urlparse.TypeASCII:
		return config.Usage("--proxy get+ cannot convert line ends: drop ;type=a or get+")
	}
	return nil
}

// tasks yields what to retrieve, beginning with the files of the lists, and reports what cannot be retrieved.
func (r *run) tasks(ctx context.Context) iter.Seq[download.Task] {
	return func(yield func(download.Task) bool) {
		next := func(from string, t download.Task, err error) bool { // from is the list or URL
			switch {
			case r.ended(ctx):
				return false
			case err == nil:
				return yield(t)
			}
			r.printError(from, err)
			r.untried++
			if len(t.URLs) > 0 {
				r.reports(download.Event{Err: err, Task: &t})
			}
			return true
		}
		for _, l := range r.lists {
			if !r.tasksOf(l, next) {
				return
			}
		}
		for i, t := range r.Targets {
			r.current = i
			task, err := r.task(t)
			if !next(t.URL.Redacted(), task, r.explained(ctx, t.URL, err)) {
				return
			}
		}
	}
}

// tasksOf calls next for each file of a list. It returns false if next does.
func (r *run) tasksOf(l *list, next func(from string, t download.Task, err error) bool) bool {
	left := l.files
	for item, err := range manifest.Read(l.text(), &l.options) {
		if err == nil {
			left--
		}
		for _, u := range item.URLs {
			err = cmp.Or(err, r.completeURL(u))
		}
		item.Path = r.charset.read(item.Path)
		if !next(l.name, download.TaskOf(item), err) {
			return false
		}
	}
	if left <= 0 {
		return true
	}
	err := &localfile.Error{Reason: "became shorter during the run: run the command again with the whole list"}
	return next(l.name, download.Task{}, err)
}

// known returns the number of files and of their bytes, as far as they are known in advance; -1 means unknown.
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
		if t.Pattern != "" || r.Recursive || r.Tree.Newest > 0 {
			return -1, -1
		}
		files++
		bytes = -1
	}
	return files, bytes
}

// task returns the task for a URL of the command line. If URLs are retrieved one by one, [run.path] gives the Path.
func (r *run) task(t config.Target) (task download.Task, err error) {
	u := t.URL
	tree := r.Tree
	names := r.under(t)
	task.URLs = []*urlparse.URL{u}
	task.Sum = r.File.Sum
	if r.Type != "d" {
		tree.Type = r.typeOf
	}
	switch {
	case t.Pattern != "":
		task.Tree = &tree
		tree.Names = t.Pattern
		if r.Matches {
			task.Path, err = r.path(u)
			return task, err
		}
		tree.Depth = r.depth(t)
	case r.Recursive, r.Long && tree.Newest > 0:
		task.Tree = &tree
		tree.Depth = r.depth(t)
		names = r.treeDirs(t)
	case r.Info || r.DryRun && !r.Many: // nothing is saved
		return task, nil
	case !r.Many:
		task.Path, err = r.path(u)
		return task, err
	case u.IsDir():
		return task, &ftpexec.Error{Op: "open", URL: u.Redacted(), Err: ftpexec.ErrIsDirectory}
	default:
		names = append(names, u.Name)
	}
	for i := range names {
		if err == nil {
			names[i], err = localName(names[i])
		}
	}
	task.Path = path.Join(names...)
	return task, err
}

// depth returns how many levels of directories are listed for a URL of the command line; 0 means all.
func (r *run) depth(t config.Target) int {
	levels := r.Tree.Depth
	if !r.Recursive {
		levels = 1
	}
	if levels > 0 {
		levels += strings.Count(t.Pattern, "/")
	}
	return levels
}

// under returns the directories of a URL of the command line below which its file is saved.
func (r *run) under(t config.Target) []string {
	if r.Reading.KeepDirs {
		return r.Reading.Kept(t.URL.Dirs)
	}
	return slices.Clone(t.Under)
}

// treeDirs returns the directories below which a tree is saved. They depend on its URL and the flags alone, not on other
// URLs: what is in the tree is saved in the directory of -d. The last of them is also the name if the URL names a file.
func (r *run) treeDirs(t config.Target) []string {
	way := slices.Clone(t.URL.Dirs)
	if t.URL.Name != "" {
		way = append(way, t.URL.Name)
	}
	switch {
	case r.keepsAllDirs():
		return way
	case t.Choice:
		return way[len(way)-1-len(t.Under):]
	case r.Dir != "" && !r.Reading.KeepDirs:
		return nil
	}
	names := strings.FieldsFunc(strings.Join(way, "/"), func(c rune) bool { return c == '/' })
	if len(names) == 0 { // the login directory
		return []string{t.URL.Host}
	}
	return names[max(0, len(names)-max(1, r.Reading.MostDirs)):]
}

func localName(name string) (string, error) {
	if why := localfile.Unusable(name); why != "" {
		return "", &localfile.Error{Path: name, Reason: why, Err: localfile.ErrName}
	}
	return name, nil
}

// path returns where to save u, or "-" for standard output. It refuses a path that an earlier URL of the run has, whose
// file would be replaced.
func (r *run) path(u *urlparse.URL) (string, error) {
	listed := u.IsDir() || r.Long
	if listed && (r.File.Verify || r.File.Sum.Algorithm != "") {
		return "", config.Usage("--checksum and --verify apply to files, but the URL names a directory")
	}
	if r.Output == "-" || listed && r.Output == "" {
		return "-", nil
	}
	name := r.Output
	var err error
	if name == "" {
		name, err = localName(r.ownName(u))
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
		reason := "was already saved for an earlier URL of this command"
		return "", &localfile.Error{Path: path, Reason: reason, Err: localfile.ErrTaken}
	}
	return path, nil
}

// ownName returns the name under which a file is saved, or the part of it that --range names.
func (r *run) ownName(u *urlparse.URL) string {
	name := u.Name
	if rest := strings.TrimPrefix(name, "/"); !strings.Contains(rest, "/") {
		name = rest // of a file in the root, which is %2FNAME
	}
	if r.Range == nil {
		return name
	}
	return name + "." + r.Range.String()
}

// named refuses the path of -o if it is a directory, ends in a separator, or lies in a directory that does not exist.
func named(path string, separated bool) error {
	info, err := os.Stat(path)
	if separated || err == nil && info.IsDir() {
		dir := cmp.Or(strings.TrimRight(filepath.ToSlash(path), "/"), "/")
		return &localfile.Error{Path: path, Reason: "is a directory: use -d " + dir + " to save in it"}
	}
	dir, name := filepath.Split(path)
	dir = filepath.Clean(dir)
	if _, err := os.Stat(dir); os.IsNotExist(err) {
		instead := ": write -d " + filepath.ToSlash(dir) + " -o " + name + ", which creates it"
		return &localfile.Error{Reason: "there is no directory " + dir + instead}
	}
	return nil
}
