package main

import (
	"os"
	"time"

	"github.com/spf13/afero"
)

// unhurried is a tree whose files say nothing for a moment. Some clients lose a final reply that comes together with the
// preliminary one, and wait for it.
type unhurried struct{ afero.Fs }

func (u unhurried) OpenFile(name string, flag int, perm os.FileMode) (afero.File, error) {
	f, err := u.Fs.OpenFile(name, flag, perm)
	return unhurriedFile{f}, err
}

// unhurriedFile is a file of unhurried.
type unhurriedFile struct{ afero.File }

func (f unhurriedFile) Read(b []byte) (int, error) {
	time.Sleep(100 * time.Millisecond)
	return f.File.Read(b)
}
