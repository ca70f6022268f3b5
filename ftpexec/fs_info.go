package ftpexec

import (
	"io/fs"
	"path"
	"time"
)

// fileInfo is a fs.FileInfo.
type fileInfo struct {
	name string
	Entry
}

// newInfo returns the info for an entry with this name in an FS.
func newInfo(name string, e Entry) *fileInfo { return &fileInfo{path.Base(name), e} }

func (i *fileInfo) Name() string       { return i.name }
func (i *fileInfo) IsDir() bool        { return i.Entry.Mode.IsDir() }
func (i *fileInfo) ModTime() time.Time { return i.Entry.ModTime }
func (i *fileInfo) Sys() any           { return &i.Entry }

func (i *fileInfo) String() string { return fs.FormatFileInfo(i) }

// Size returns the size of a file, or -1. That of anything else is 0.
func (i *fileInfo) Size() int64 {
	if i.Entry.Mode.IsRegular() {
		return i.Entry.Size
	}
	return 0
}

// Mode returns the type. FTP has no word for the permissions of an FS, which cannot be written.
func (i *fileInfo) Mode() fs.FileMode {
	if i.IsDir() {
		return fs.ModeDir | 0o555
	}
	return i.Entry.Mode.Type() | 0o444
}

// dirEntry is a fs.DirEntry.
type dirEntry struct {
	fsys *FS
	path string // in fsys
	Entry
}

func (e *dirEntry) Name() string      { return e.Base }
func (e *dirEntry) IsDir() bool       { return e.Mode.IsDir() }
func (e *dirEntry) Type() fs.FileMode { return e.Mode.Type() }
func (e *dirEntry) String() string    { return fs.FormatDirEntry(e) }

// Info returns what Stat returns. A link and what MLSD tells need no question.
func (e *dirEntry) Info() (fs.FileInfo, error) {
	exact := e.Precision > 0 && e.Precision <= time.Second && !e.Local && (e.Size >= 0 || e.IsDir())
	if exact || e.Type()&^fs.ModeDir != 0 {
		return newInfo(e.path, e.Entry), nil
	}
	return e.fsys.Stat(e.path)
}
