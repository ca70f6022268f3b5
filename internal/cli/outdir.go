package cli

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"example.com/ftpfetch/download"
)

// makeDir makes the directory of -d, with its parents, if it is missing. The
// caller calls unmake at the end of the run: it removes what was made as far as it
// is still empty, so that a run that fails before the first byte leaves nothing,
// and reports whether a directory stays.
func (r *run) makeDir() (unmake func() (stays bool), err error) {
	if r.Dir == "" || r.DryRun {
		return func() bool { return false }, nil
	}
	var made []string // the innermost first
	for dir := filepath.Clean(r.Dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !os.IsNotExist(err) || dir == filepath.Dir(dir) {
			break
		}
		made = append(made, dir)
	}
	if err := os.MkdirAll(r.Dir, 0o777); err != nil {
		return nil, localError(r.Dir, "cannot be created", err)
	}
	if len(made) > 0 {
		r.made = made[len(made)-1]
	}
	return func() bool {
		for _, dir := range made {
			if os.Remove(dir) != nil {
				return true
			}
		}
		return false
	}, nil
}

// checkFile refuses a value of -o that names a directory.
func (r *run) checkFile(path string) error {
	info, err := os.Stat(path)
	if os.IsPathSeparator(r.Output[len(r.Output)-1]) || err == nil && info.IsDir() {
		dir := cmp.Or(strings.TrimRight(filepath.ToSlash(path), "/"), "/")
		return &download.Error{Path: path, Reason: "names a directory: write -d " + dir + " to save in it", Err: download.ErrLocal}
	}
	return nil
}
