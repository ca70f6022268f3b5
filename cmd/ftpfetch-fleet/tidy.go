package main

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/printable"
)

// tidy removes the parts, and their journals, that killed workers have left in the directory: those that no process has
// locked. Their files start over if they come to this worker again.
func (w *worker) tidy() error {
	removed := int64(0)
	err := fs.WalkDir(w.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		stem, what, ok := strings.Cut(path.Base(name), ".ftpfetch.")
		if err != nil || e.IsDir() || !ok || what != "part" && what != "json" && what != "next" {
			return err
		}
		part := path.Join(path.Dir(name), stem) + ".ftpfetch.part"
		f, err := w.root.OpenFile(part, os.O_RDWR, 0)
		if err == nil {
			taken, _ := disk.Lock(f)
			defer f.Close()
			if taken {
				return nil
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		removed++
		err = w.root.Remove(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if removed > 0 {
		w.line("%s of killed workers removed", printable.Count(removed, "file is", "files are"))
	}
	return localfile.Failure(strings.TrimSuffix(w.where, "/"), "cannot be tidied", err)
}
