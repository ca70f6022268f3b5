// Package ftpfs makes a directory on an FTP server a file system that can be read ([io/fs]).
package ftpfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// FS is a directory on an FTP server with everything below it. It caches nothing. Its methods may be called concurrently.
//
// Open asks what the name is, in one round trip where the server knows MLST (RFC 3659 section 7), and follows links. Only
// the first Read retrieves the file. Files are retrieved in image type; they implement [io.Seeker] and [io.ReaderAt]: a
// Seek sends nothing, and the next Read begins at the new position with REST (RFC 3659 section 5), or reads over up to
// 256 KiB that are in the way. Calls for one File may be concurrent, and run one after another; Close ends a Read that is
// under way. Read returns the last bytes, and [io.EOF], only after the server has confirmed that the transfer is complete.
// After any other error the next Read tries again at its position. If size or time of the file have changed since the first
// Read, Read returns [ftpexec.ErrChanged].
//
// A file holds a connection from its first Read to its last byte or Close. Set [ftpexec.Client.MaxConns] to what the
// server bears: a call that needs one more then waits until one is free or the context of New ends. So a goroutine that
// keeps that many files half read, and reads one more, waits until the context ends.
//
// ReadDir lists a directory as [ftpexec.Client.Entries] does, and asks for each type if the server lists only names. An
// entry that cannot be listed, because its name is not valid ([fs.ValidPath]; a name must be UTF-8) or its line is not
// understood, is an [ftpexec.ErrLine]: ReadDir returns all other entries, and an error that joins these. [fs.WalkDir]
// gives that error to its function and goes on if that returns nil; [fs.Glob] leaves these entries out.
//
// A FileInfo has the size, which is -1 if it is unknown, and the time in UTC, zero if it is unknown. The permissions are
// not the server's: files have 0444, directories 0555. Sys returns an *[ftpexec.Entry] with what the server told. The Info
// of a [fs.DirEntry] is what Stat returns, except for a link: if the listing has only rough or local times, as LIST has,
// Info asks the server.
//
// All errors are *[fs.PathError] and wrap the *[ftpexec.Error]. They are [fs.ErrNotExist], [fs.ErrPermission],
// [fs.ErrInvalid] or [fs.ErrClosed] where io/fs asks for that. A server that refuses a directory without saying why counts
// as one that does not have it.
type FS struct {
	client *ftpexec.Client
	ctx    context.Context // of New; the methods of io/fs take no context
	root   *urlparse.URL
}

var _ interface {
	fs.GlobFS
	fs.ReadDirFS
	fs.ReadFileFS
	fs.ReadLinkFS
	fs.StatFS
	fs.SubFS
} = (*FS)(nil)

// New returns the directory that root names as a file system; root must end in "/" or ";type=d". It sends nothing. ctx
// covers all use of the FS and its files. The error is [ftpexec.ErrNotDirectory] if root names a file, or a
// *[urlparse.Error] if it is not valid.
func New(ctx context.Context, c *ftpexec.Client, root *urlparse.URL) (*FS, error) {
	if _, err := ftpexec.NewPlan(root); err != nil {
		return nil, err
	}
	if !root.IsDir() {
		return nil, &ftpexec.Error{Op: "open", URL: root.Redacted(), Err: ftpexec.ErrNotDirectory, Hint: `end the URL in "/"`}
	}
	return &FS{c, ctx, root.Child("", urlparse.TypeNone)}, nil
}

// Open opens the named file or directory.
func (d *FS) Open(name string) (fs.File, error) {
	i, err := d.stat("open", name)
	if err != nil {
		return nil, err
	}
	return newFile(i), nil
}

// Stat returns what the server tells about the named file or directory. It follows links.
func (d *FS) Stat(name string) (fs.FileInfo, error) {
	i, err := d.stat("stat", name)
	if err != nil {
		return nil, err
	}
	return i, nil
}

// stat asks about a name on behalf of op.
func (d *FS) stat(op, name string) (*info, error) {
	u, err := d.locate(op, name)
	if err != nil {
		return nil, err
	}
	i := &info{fsys: d, path: name}
	i.e, err = d.client.Stat(d.ctx, u.Child("", urlparse.TypeNone))
	if err == nil && i.e.Mode&fs.ModeIrregular != 0 { // it is there or not: the listing tells
		i, err = d.lookup(u, name)
		switch {
		case err == nil && i.e.Mode&fs.ModeSymlink != 0:
			err = fmt.Errorf("%w: the link leads nowhere", notFound(u))
		case err == nil:
			i.e.Mode &^= fs.ModeIrregular
		}
	}
	if err != nil {
		return nil, failed(op, name, err)
	}
	return i, nil
}

// ReadFile returns the contents of the named file.
func (d *FS) ReadFile(name string) ([]byte, error) {
	u, err := d.locate("open", name)
	if err != nil {
		return nil, err
	}
	r, err := d.client.Do(d.ctx, &ftpexec.Request{URL: u})
	if err != nil {
		return nil, failed("read", name, err)
	}
	defer r.Body.Close()
	all, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, failed("read", name, err)
	}
	return all, nil
}

// Sub returns the named directory as a file system of its own. It sends nothing.
func (d *FS) Sub(dir string) (fs.FS, error) {
	u, err := d.locate("sub", dir)
	if err != nil {
		return nil, err
	}
	return &FS{d.client, d.ctx, u.Child("", urlparse.TypeNone)}, nil
}

// ReadDir returns the entries of the named directory, ordered by name. With an error that is an [ftpexec.ErrLine] it
// returns all entries but those that the error is about.
func (d *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	u, err := d.locate("readdir", name)
	if err != nil {
		return nil, err
	}
	list, odd, err := d.list(u.Child("", urlparse.TypeNone), name)
	var e *ftpexec.Error
	if errors.As(err, &e) && e.Stage == "directory" { // or is it a file?
		if i, serr := d.stat("stat", name); serr == nil && !i.IsDir() {
			err = fmt.Errorf("%w%.0w", ftpexec.ErrNotDirectory, err)
		}
	}
	all := make([]fs.DirEntry, len(list))
	for at, i := range list {
		if err == nil {
			all[at], err = i, i.learn()
		}
	}
	if err != nil {
		return nil, failed("readdir", name, err)
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	if odd != nil {
		return all, failed("readdir", name, errors.Join(odd...))
	}
	return all, nil
}

// list returns the entries of dir, and an error for each that cannot be listed.
func (d *FS) list(dir *urlparse.URL, name string) (list []*info, odd []error, err error) {
	for e, err := range d.client.Entries(d.ctx, dir) {
		switch {
		case errors.Is(err, ftpexec.ErrLine):
			odd = append(odd, err)
		case err != nil:
			return nil, nil, err
		case !fs.ValidPath(e.Base):
			odd = append(odd, fmt.Errorf("%s: %w: no name that io/fs allows", e.URL.Redacted(), ftpexec.ErrLine))
		default:
			list = append(list, &info{d, path.Join(name, e.Base), e})
		}
	}
	return list, odd, nil
}

// lookup returns what the listing of a directory tells about the name in it that u names.
func (d *FS) lookup(u *urlparse.URL, name string) (*info, error) {
	dir := *u
	dir.Name = ""
	list, _, err := d.list(&dir, path.Dir(name))
	if at := slices.IndexFunc(list, func(i *info) bool { return i.path == name }); at >= 0 {
		return list[at], nil
	}
	return nil, cmp.Or(err, notFound(u))
}

func notFound(u *urlparse.URL) error {
	return &ftpexec.Error{Stage: "transfer", Op: "open", URL: u.Redacted(), Err: ftpexec.ErrNotFound}
}

// Glob is as [fs.Glob], and sees a directory although some of its entries cannot be listed.
func (d *FS) Glob(pattern string) ([]string, error) { return fs.Glob(lenient{d, d}, pattern) }

// lenient is an FS that leaves out what cannot be listed.
type lenient struct {
	fs.StatFS
	fsys *FS
}

func (l lenient) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := l.fsys.ReadDir(name)
	if errors.Is(err, ftpexec.ErrLine) {
		err = nil
	}
	return list, err
}

// Lstat is as Stat, but does not follow a link. It lists the directory that has the name.
func (d *FS) Lstat(name string) (fs.FileInfo, error) {
	u, err := d.locate("lstat", name)
	if err != nil {
		return nil, err
	}
	if name == "." {
		return d.Stat(name)
	}
	i, err := d.lookup(u, name)
	if err == nil {
		err = i.learn()
	}
	if err != nil {
		return nil, failed("lstat", name, err)
	}
	return i.Info()
}

// ReadLink returns the target of the named link, as the server sent it.
func (d *FS) ReadLink(name string) (string, error) {
	i, err := d.Lstat(name)
	if err == nil && i.Sys().(*ftpexec.Entry).Target == "" {
		err = failed("readlink", name, fmt.Errorf("%w: not a link, or the server does not tell its target", fs.ErrInvalid))
	}
	if err != nil {
		return "", err
	}
	return i.Sys().(*ftpexec.Entry).Target, nil
}

// locate returns the URL of a name, written like that of a file. "." is the root.
func (d *FS) locate(op, name string) (*urlparse.URL, error) {
	if !fs.ValidPath(name) || strings.ContainsAny(name, "\r\n\x00") { // what no command can carry
		return nil, failed(op, name, fs.ErrInvalid)
	}
	u := d.root
	if name != "." {
		for segment := range strings.SplitSeq(name, "/") {
			u = u.Child(segment, urlparse.TypeNone)
		}
	}
	return u, nil
}

// failed returns err as an error of io/fs.
func failed(op, name string, err error) error {
	var e *ftpexec.Error
	if errors.As(err, &e) && e.Hint != "" && e.Stage == "transfer" { // it is about URLs
		plain := *e
		plain.Hint, err = "", &plain
	}
	if errors.As(err, &e) && e.Stage == "directory" && e.Reply != nil && e.Reply.Code == 550 && !errors.Is(e, fs.ErrPermission) {
		err = fmt.Errorf("%w%.0w", err, fs.ErrNotExist)
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
