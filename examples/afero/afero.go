// Package ftpafero makes a directory of an FTP server a file system of github.com/spf13/afero, for programs that use that in
// place of package os. Nothing above the directory can be reached, and nothing can be written: put a file system of yours on
// top where a program writes.
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

// New returns the directory at rawURL. All uses of it end with ctx; the idle connections of c are left to the caller.
func New(ctx context.Context, c *ftpexec.Client, rawURL string) (afero.Fs, error) {
	fsys, err := ftpfs.New(ctx, c, rawURL)
	if err != nil {
		return nil, err
	}
	return remote{afero.FromIOFS{FS: fsys}}, nil
}

// remote takes the names that package os takes, such as "/a" and "a/", where io/fs takes only "a".
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

// LstatIfPossible is what afero.Walk calls.
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
