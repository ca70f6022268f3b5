package ftpfs

import (
	"errors"
	"io/fs"
	"path"
	"time"

	"example.com/ftpfetch/ftpexec"
)

// info is a [fs.FileInfo] and a [fs.DirEntry].
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

// Size returns the size of a file, or -1. That of anything else is 0.
func (i *info) Size() int64 {
	if i.e.Mode.IsRegular() {
		return i.e.Size
	}
	return 0
}

// Mode returns the type. FTP has no word for the permissions of an FS, which cannot be written.
func (i *info) Mode() fs.FileMode {
	if i.IsDir() {
		return fs.ModeDir | 0o555
	}
	return i.Type() | 0o444
}

// Info returns what Stat returns. A link and what MLSD tells need no question.
func (i *info) Info() (fs.FileInfo, error) {
	exact := i.e.Precision > 0 && i.e.Precision <= time.Second && !i.e.Local && (i.e.Size >= 0 || i.IsDir())
	if exact || i.Type()&^fs.ModeDir != 0 {
		return i, nil
	}
	return i.fsys.Stat(i.path)
}

// learn asks for the type if the listing told nothing but the name. A name about which the server tells nothing keeps its
// unknown type.
func (i *info) learn() error {
	if i.Type() != fs.ModeIrregular || i.e.Precision > 0 || i.e.HasPerm || i.e.Size >= 0 {
		return nil
	}
	known, err := i.fsys.stat("stat", i.path)
	if err == nil {
		i.e = known.e
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}
