// Package ftpafero presents a directory of an FTP server as a file system of github.com/spf13/afero, for programs that
// use afero in place of package os. Programs cannot reach anything above the directory, and cannot write. For a program
// that writes, put a writable file system on top:
//
//	remote, err := ftpafero.New(ctx, &client, "ftp://ftp.example.org/pub/")
//	both := afero.NewCopyOnWriteFs(remote, afero.NewMemMapFs())
package ftpafero

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/spf13/afero"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/ftpfs"
)

// New returns the directory at rawURL as a file system. All operations on it end with ctx. The caller closes the idle
// connections of c.
func New(ctx context.Context, c *ftpexec.Client, rawURL string) (afero.Fs, error) {
	fsys, err := ftpfs.Open(ctx, c, rawURL)
	if err != nil {
		return nil, err
	}
	return remote{afero.FromIOFS{FS: fsys}}, nil
}

// remote accepts names as package os does, such as "/a" and "a/", whereas io/fs accepts only "a".
type remote struct{ afero.FromIOFS }

func name(s string) string {
	if s = strings.TrimPrefix(path.Clean("/"+s), "/"); s == "" {
		return "."
	}
	return s
}

func (r remote) Name() string { return "ftp" }

func (r remote) Open(s string) (afero.File, error) { return r.FromIOFS.Open(name(s)) }

func (r remote) Stat(s string) (fs.FileInfo, error) { return r.FromIOFS.Stat(name(s)) }

// LstatIfPossible is called by afero.Walk.
func (r remote) LstatIfPossible(s string) (fs.FileInfo, bool, error) {
	info, err := r.FromIOFS.FS.(*ftpfs.FS).Lstat(name(s))
	return info, true, err
}

// OpenFile opens a file for reading.
func (r remote) OpenFile(s string, flag int, perm fs.FileMode) (afero.File, error) {
	if flag != 0 { // os.O_RDONLY
		return nil, &fs.PathError{Op: "open", Path: s, Err: errors.Join(fs.ErrPermission, errors.ErrUnsupported)}
	}
	return r.Open(s)
}
