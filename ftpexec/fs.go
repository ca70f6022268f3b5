package ftpexec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"example.com/ftpfetch/urlparse"
)

// FS is a directory on an FTP server with everything below it, as a file system that can be read ([io/fs]). [Client.FS]
// makes one. It caches nothing. Its methods may be called concurrently.
//
// Open asks what the name is, in one round trip where the server knows MLST (RFC 3659 section 7), and follows links. Only
// the first Read retrieves the file. Files are retrieved in image type; they implement [io.Seeker] and [io.ReaderAt]: a
// Seek sends nothing, and the next Read begins at the new position with REST (RFC 3659 section 5), or reads over up to
// 256 KiB that are in the way. ReadAt may be called concurrently; the calls for one File run one after another. Read
// returns the last bytes, and [io.EOF], only after the server has confirmed that the transfer is complete. After any
// other error the next Read tries again at its position.
//
// A file holds a connection from its first Read to the last byte, and is retrieved again from where it is if another call
// needs that connection: at most Client.MaxConns of them are in use, or as many as the server has shown to bear by
// refusing a further one. A call gets the connection of the file that has not been read for the longest time, or waits
// until one is free or ctx ends. If size or time of the file have changed meanwhile, Read returns [ErrChanged]. A file
// whose size the server does not tell keeps its connection. Close ends a Read that is under way.
//
// ReadDir lists a directory as [Client.Entries] does, and asks for each type if the server lists only names. An entry that
// cannot be listed, because its name is not valid ([fs.ValidPath]; a name must be UTF-8) or its line is not understood, is
// an [ErrLine]: ReadDir returns all other entries, and an error that joins these. [fs.WalkDir] gives that error to its
// function and goes on if that returns nil; [fs.Glob] ignores it together with all entries.
//
// A FileInfo has the size, which is -1 if it is unknown, and the time in UTC, zero if it is unknown. The permissions are
// not the server's: files have 0444, directories 0555. Sys returns an *[Entry] with what the server told. The Info of a
// [fs.DirEntry] is what Stat returns, except for a link: if the listing has only rough or local times, as LIST has, Info
// asks the server.
//
// All errors are *[fs.PathError] and wrap the *[Error]. They are [fs.ErrNotExist], [fs.ErrPermission], [fs.ErrInvalid] or
// [fs.ErrClosed] where io/fs asks for that. A server that refuses a directory without saying why counts as one that does
// not have it.
type FS struct {
	client *Client
	ctx    context.Context // of FS; the methods of io/fs take no context
	root   *urlparse.URL
}

var _ interface {
	fs.ReadDirFS
	fs.ReadFileFS
	fs.ReadLinkFS
	fs.StatFS
	fs.SubFS
} = (*FS)(nil)

// FS returns the directory that root names as a file system; root must end in "/" or ";type=d". It sends nothing. ctx
// covers all use of the FS and its files. The error is [ErrNotDirectory] if root names a file, or a *[urlparse.Error] if
// it is not valid.
func (c *Client) FS(ctx context.Context, root *urlparse.URL) (*FS, error) {
	if err := root.Check(); err != nil {
		return nil, err
	}
	if !root.IsDir() {
		return nil, errNotDirectory(root)
	}
	return &FS{c, ctx, root.Child("", urlparse.TypeNone)}, nil
}

// Open opens the named file or directory.
func (d *FS) Open(name string) (fs.File, error) {
	info, err := d.stat("open", name)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return &openDir{fsys: d, name: name, info: info}, nil
	}
	return d.newFile(name, info), nil
}

// Stat returns what the server tells about the named file or directory. It follows links.
func (d *FS) Stat(name string) (fs.FileInfo, error) {
	info, err := d.stat("stat", name)
	if err != nil {
		return nil, err
	}
	return info, nil
}

// stat asks about a name on behalf of op.
func (d *FS) stat(op, name string) (*fileInfo, error) {
	u, err := d.locate(op, name)
	if err != nil {
		return nil, err
	}
	var e Entry
	err = d.client.uncrowded(d.ctx, u, func() error {
		s, err := d.client.take(d.ctx, u)
		if err != nil {
			return err
		}
		defer d.client.put(s)
		e, err = s.look(d.ctx, u)
		return err
	})
	if err == nil && e.Mode&fs.ModeIrregular != 0 { // it is there or not: the listing tells
		e, err = d.found(u)
	}
	if err != nil {
		return nil, failed(op, name, err)
	}
	return newInfo(name, e), nil
}

// found returns the entry for a name about which the server tells nothing but in a listing. If not even that tells the
// type, it is a file. A link leads nowhere.
func (d *FS) found(u *urlparse.URL) (e Entry, err error) {
	dir := *u
	dir.Name = ""
	err = d.client.uncrowded(d.ctx, u, func() error {
		e, err = d.client.find(d.ctx, &dir, u.Name)
		return err
	})
	if err == nil && e.Mode&fs.ModeSymlink != 0 {
		err = &Error{Stage: StageTransfer, Op: "open", URL: u.Redacted(), Err: fmt.Errorf("%w: the link leads nowhere", ErrNotFound)}
	}
	e.Mode &^= fs.ModeIrregular
	return e, err
}

// ReadFile returns the contents of the named file.
func (d *FS) ReadFile(name string) ([]byte, error) {
	u, err := d.locate("open", name)
	if err != nil {
		return nil, err
	}
	if u.IsDir() {
		return nil, failed("read", name, ErrIsDirectory)
	}
	var all bytes.Buffer
	err = d.client.uncrowded(d.ctx, u, func() error {
		r, err := d.client.Do(d.ctx, &Request{URL: u})
		if err != nil {
			return err
		}
		defer r.Body.Close()
		all.Grow(int(min(max(r.Size, 0), readOver)) + bytes.MinRead)
		_, err = all.ReadFrom(r.Body)
		return err
	})
	if err != nil {
		return nil, failed("read", name, err)
	}
	return all.Bytes(), nil
}

// Sub returns the named directory as a file system of its own. It sends nothing.
func (d *FS) Sub(dir string) (fs.FS, error) {
	u, err := d.locate("sub", dir)
	if err != nil {
		return nil, err
	}
	if dir != "." {
		u = u.Child("", urlparse.TypeNone)
	}
	return &FS{d.client, d.ctx, u}, nil
}

// locate returns the URL of a name, written like that of a file. "." is the root.
func (d *FS) locate(op, name string) (*urlparse.URL, error) {
	if !fs.ValidPath(name) {
		return nil, failed(op, name, fs.ErrInvalid)
	}
	u := d.root
	if name != "." {
		for segment := range strings.SplitSeq(name, "/") {
			u = u.Child(segment, urlparse.TypeNone)
		}
	}
	if err := u.Check(); err != nil { // a CR, LF or NUL
		return nil, failed(op, name, fmt.Errorf("%w%.0w", err, fs.ErrInvalid))
	}
	return u, nil
}

// failed returns err as an error of io/fs.
func failed(op, name string, err error) error {
	var e *Error
	if errors.As(err, &e) && e.Hint != "" && e.Stage == StageTransfer { // it is about URLs
		plain := *e
		plain.Hint, err = "", &plain
	}
	if errors.As(err, &e) && e.Stage == StageDirectory && e.Reply != nil && e.Reply.Code == 550 && !errors.Is(e, fs.ErrPermission) {
		err = fmt.Errorf("%w%.0w", err, fs.ErrNotExist)
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
