// Package ftpfs presents a directory on an FTP server as a read-only file system ([io/fs]).
//
//	fsys, err := ftpfs.Open(ctx, nil, "ftp://ftp.example.org/pub/")
//	text, err := fs.ReadFile(fsys, "README")
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
	"syscall"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// FS is a directory on an FTP server with everything below it. It caches nothing. Its methods may be called
// concurrently.
//
// Open asks the server what the name is, in one round trip if it knows MLST (RFC 3659 section 7), and follows links.
// Files implement [io.Seeker] and [io.ReaderAt]. A Read elsewhere in the file begins another transfer there (REST, RFC
// 3659 section 5), or reads on and drops what comes before, if that is at most 256 KiB. Calls of ReadAt that run at
// once use one connection each, up to [ftpexec.Client.MaxConns] (8 if that is 0) or the server's limit. A call whose
// range begins at most 256 KiB after that of another one shares its connection. Other calls run one after another. Close ends all calls. The last bytes, and [io.EOF], come only after the server has confirmed that the
// transfer is complete; after any other error the next Read tries again, even if only the last byte is missing.
//
// A file may be replaced on the server while it is open. If its size or time is not what it was at the first Read, Read
// returns [ftpexec.ErrChanged]. It returns that too if it needs another transfer and the server gives no size or no
// time, because nothing would show whether the transfer brings the same file. The first Read of a file of at most 256
// KiB without a time therefore reads the whole file, and the next ones need no transfer.
//
// A file holds a connection from its first Read to its last byte or Close, and one more for each ReadAt that has run at
// the same time as others. Where a transfer ends early, the connection serves the next one if the server allows that:
// see [ftpexec.Response]. If [ftpexec.Client.MaxConns]
// connections are in use, a call that needs another one waits until one is free, its file is closed or the context of
// New ends. It waits for ever if the same goroutine holds the connections with files that it has read in part.
//
// ReadDir lists a directory as [ftpexec.Client.Entries] does, and asks for each type if the server lists only names. It
// returns the entries with valid names ([fs.ValidPath]) on lines that it understands, and an error that joins an
// [ftpexec.ErrLine] for each of the others. [fs.WalkDir] gives that error to its function; [fs.Glob] leaves those lines
// out.
//
// A FileInfo has the size and the time in UTC, or -1 and the zero time if the server does not give them. Files have the
// permissions 0444, directories 0555. Sys returns an *[ftpexec.Entry] with what the server said. The Info of an
// [fs.DirEntry] that is not a link asks the server if the listing has only rough or local times, as LIST has.
//
// All errors are *[fs.PathError]; errors of the server wrap an *[ftpexec.Error]. They are [fs.ErrNotExist],
// [fs.ErrPermission], [fs.ErrInvalid] or [fs.ErrClosed] where io/fs asks for that. A server that refuses a directory
// without saying why counts as one that does not have it.
type FS struct {
	client *ftpexec.Client
	ctx    context.Context // of New; the methods of io/fs take no context
	root   *urlparse.URL
}

// Open is [New] for the text of a URL, which ends in "/" or ";type=d". The error may also be one of [urlparse.Parse].
func Open(ctx context.Context, c *ftpexec.Client, url string) (*FS, error) {
	root, err := urlparse.Parse(url)
	if err != nil {
		return nil, err
	}
	return New(ctx, c, root)
}

// New returns the directory that root names as a file system. It sends nothing. ctx covers all use of the FS and its
// files. A nil Client means one with its defaults. The error is [syscall.ENOTDIR] if root names a file
// ([urlparse.URL.IsDir]), or a *[urlparse.Error] if it is not valid. [urlparse.FromURL] makes root from a URL of
// package net/url.
func New(ctx context.Context, c *ftpexec.Client, root *urlparse.URL) (*FS, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	if root == nil {
		return nil, errNoURL
	}
	if err := root.Check(); err != nil {
		return nil, err
	}
	if !root.IsDir() {
		return nil, &ftpexec.Error{
			Op:   "open",
			URL:  root.Redacted(),
			Err:  syscall.ENOTDIR,
			Hint: `end the URL in "/"`,
		}
	}
	return &FS{cmp.Or(c, new(ftpexec.Client)), ctx, root.Child("", "")}, nil
}

var (
	errNoContext = fmt.Errorf("%w: no context: write context.Background()", fs.ErrInvalid)
	errNoURL     = fmt.Errorf("%w: no URL (nil)", fs.ErrInvalid)
)

// WithContext returns d with ctx in place of the context of New, for example the context of a request. It shares the
// connections of d.
func (d *FS) WithContext(ctx context.Context) *FS { return &FS{d.client, ctx, d.root} }

// Open opens the named file or directory.
func (d *FS) Open(name string) (fs.File, error) {
	i, err := d.stat(name)
	if err != nil {
		return nil, failed("open", name, err)
	}
	return newFile(d.ctx, i), nil
}

// Stat returns what the server says about the named file or directory. It follows links.
func (d *FS) Stat(name string) (fs.FileInfo, error) {
	i, err := d.stat(name)
	if err != nil {
		return nil, failed("stat", name, err)
	}
	return i, nil
}

// Lstat is like Stat, but does not follow a link. It lists the directory that contains the name.
func (d *FS) Lstat(name string) (fs.FileInfo, error) {
	if name == "." {
		return d.Stat(name)
	}
	i, err := d.lookUp(name)
	if err != nil {
		return nil, failed("lstat", name, err)
	}
	return i.Info()
}

// ReadLink returns the target of the named link, as the server sent it.
func (d *FS) ReadLink(name string) (string, error) {
	i, err := d.lookUp(name)
	if err == nil && i.e.Target == "" {
		err = fmt.Errorf("%w: not a link, or the server does not give its target", fs.ErrInvalid)
	}
	if err != nil {
		return "", failed("readlink", name, err)
	}
	return i.e.Target, nil
}

// ReadFile returns the contents of the named file, without asking first what it is. If the server gives no size,
// ReadFile compares the number of bytes with the size in the listing of the directory.
func (d *FS) ReadFile(name string) ([]byte, error) {
	all, err := d.read(d.ctx, name)
	if err == errListed { // the file may have changed between transfer and listing
		all, err = d.read(d.ctx, name)
	}
	return all, failed("read", name, err)
}

var errListed = fmt.Errorf("%w: its directory lists another size", ftpexec.ErrTruncated)

// read returns the bytes of a file. The error is errListed if only the listing of its directory has a size, and that is
// not the number of bytes.
func (d *FS) read(ctx context.Context, name string) ([]byte, error) {
	u, err := d.url(name)
	if err != nil {
		return nil, err
	}
	r, err := d.client.Do(ctx, &ftpexec.Request{URL: u})
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	all, err := io.ReadAll(r.Body)
	if err == nil && r.Size < 0 {
		if i, lerr := d.lookUp(name); lerr == nil && i.e.Size >= 0 && i.e.Size != int64(len(all)) {
			err = errListed
		}
	}
	return all, err
}

// ReadDir returns the entries of the named directory, ordered by name. With an error that is an [ftpexec.ErrLine] it
// returns all entries but those that the error is about.
func (d *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	list, odd, err := d.list(name)
	if e, ok := errors.AsType[*ftpexec.Error](err); ok && e.Stage == ftpexec.StageDirectory {
		// The name may be one of a file.
		if i, serr := d.stat(name); serr == nil && !i.IsDir() {
			err = fmt.Errorf("%w%.0w", syscall.ENOTDIR, err)
		}
	}
	all := make([]fs.DirEntry, len(list))
	for at, i := range list {
		all[at] = i
		if err == nil && i.bare() {
			if known, e := d.stat(i.path); e == nil {
				i.e = known.e
			} else if !errors.Is(e, fs.ErrNotExist) && !errors.Is(e, fs.ErrPermission) {
				// Otherwise the type stays unknown.
				err = e
			}
		}
	}
	if err != nil {
		return nil, failed("readdir", name, err)
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return all, failed("readdir", name, odd)
}

// Glob is like [fs.Glob], but leaves out what cannot be listed.
func (d *FS) Glob(pattern string) ([]string, error) { return fs.Glob(lenient{d}, pattern) }

// lenient lists a directory without the entries that are not understood.
type lenient struct{ fs.StatFS } // without the Glob of FS

func (l lenient) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(l.StatFS, name)
	if errors.Is(err, ftpexec.ErrLine) {
		err = nil
	}
	return list, err
}

// url returns the URL of a name, written like the URL of a file. "." is the root.
func (d *FS) url(name string) (*urlparse.URL, error) {
	switch {
	case d.root == nil:
		return nil, fmt.Errorf("%w: no file system: write ftpfs.New", fs.ErrInvalid)
	case d.ctx == nil:
		return nil, errNoContext
	}
	if !fs.ValidPath(name) || strings.ContainsAny(name, "\r\n\x00") { // what no command can carry
		return nil, fs.ErrInvalid
	}
	u := d.root
	if name != "." {
		for segment := range strings.SplitSeq(name, "/") {
			u = u.Child(segment, "")
		}
	}
	return u, nil
}

// stat asks the server what a name is. If the server knows neither MLST nor SIZE, stat looks into the listing.
func (d *FS) stat(name string) (*info, error) {
	u, err := d.url(name)
	if err != nil {
		return nil, err
	}
	i := &info{fsys: d, path: name}
	i.e, err = d.client.Stat(d.ctx, u.Child("", ""))
	if err != nil || i.Type() != fs.ModeIrregular {
		return i, err
	}
	if i, err = d.lookUp(name); err != nil {
		return nil, err
	}
	if i.Type() == fs.ModeSymlink { // the link leads nowhere
		return nil, ftpexec.ErrNotFound
	}
	i.e.Mode &^= fs.ModeIrregular
	return i, nil
}

// lookUp returns what the listing of a directory says about a name in it.
func (d *FS) lookUp(name string) (*info, error) {
	if _, err := d.url(name); err != nil {
		return nil, err
	}
	list, _, err := d.list(path.Dir(name))
	for _, i := range list {
		if i.path == name {
			return i, nil
		}
	}
	return nil, cmp.Or(err, ftpexec.ErrNotFound)
}

// list returns the entries of a directory. odd joins an error for each that cannot be listed.
func (d *FS) list(name string) (list []*info, odd, err error) {
	u, err := d.url(name)
	if err != nil {
		return nil, nil, err
	}
	for e, err := range d.client.Entries(d.ctx, u.Child("", "")) {
		if err == nil && !fs.ValidPath(path.Base(e.Name)) {
			err = fmt.Errorf("%s: %w: no name that io/fs allows", e.URL.Redacted(), ftpexec.ErrLine)
		}
		switch {
		case err == nil:
			list = append(list, &info{d, path.Join(name, path.Base(e.Name)), e})
		case errors.Is(err, ftpexec.ErrLine):
			odd = errors.Join(odd, err)
		default:
			return nil, nil, err
		}
	}
	return list, odd, nil
}

// failed returns err as an error of io/fs, unless it is one already.
func failed(op, name string, err error) error {
	e, known := errors.AsType[*ftpexec.Error](err)
	switch {
	case err == nil || err == io.EOF || errors.As(err, new(*fs.PathError)):
		return err
	case known && e.Stage == ftpexec.StageTransfer && e.Hint != "": // the hint is about URLs
		plain := *e
		plain.Hint = ""
		err = &plain
	case known && e.Stage == ftpexec.StageDirectory && e.Code == 550 && !errors.Is(e, fs.ErrPermission):
		err = fmt.Errorf("%w%.0w", err, fs.ErrNotExist)
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// info is what is known about a file or directory. It is an fs.FileInfo and an fs.DirEntry.
type info struct {
	fsys *FS
	path string // in fsys
	e    ftpexec.Entry
}

func (i *info) Name() string       { return path.Base(i.path) }
func (i *info) IsDir() bool        { return i.e.Mode.IsDir() }
func (i *info) Type() fs.FileMode  { return i.e.Mode.Type() }
func (i *info) ModTime() time.Time { return i.e.ModTime }
func (i *info) Sys() any           { return &i.e }

func (i *info) Size() int64 {
	if i.e.Mode.IsRegular() {
		return i.e.Size
	}
	return 0
}

func (i *info) Mode() fs.FileMode {
	if i.IsDir() {
		return fs.ModeDir | 0o555
	}
	return i.Type() | 0o444
}

// Info returns what Stat returns. It asks the server neither about a link nor about an entry of MLSD.
func (i *info) Info() (fs.FileInfo, error) {
	kind := i.Type()
	other := kind != 0 && kind != fs.ModeDir
	if i.exact() && (i.e.Size >= 0 || i.IsDir()) || other && !i.bare() {
		return i, nil
	}
	return i.fsys.Stat(i.path)
}

// exact reports whether the time is known to the second.
func (i *info) exact() bool {
	return i.e.Precision > 0 && i.e.Precision <= time.Second && !i.e.Local
}

// bare reports whether the listing gave nothing but the name.
func (i *info) bare() bool {
	return i.Type() == fs.ModeIrregular && i.e.Precision == 0 && !i.e.HasPerm && i.e.Size < 0
}
