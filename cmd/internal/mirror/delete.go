package mirror

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// Deletion says how to delete.
type Deletion struct {
	Root     *os.Root   // the output directory
	Most     int        // how many files may be deleted; math.MaxInt: any number, even if the server has no file left
	Backup   bool       // move files to a new directory in .ftpfetch-trash instead
	Dry      bool       // only report files, delete none
	Excluded bool       // also delete files that the filters leave out, although the server may have them
	Tell     func(Gone) // called for each deleted file
}

// Gone is a deleted file.
type Gone struct {
	Path string        // below the output directory
	URL  *urlparse.URL // the URL that the file came from
	Size int64         // size of the local file, in bytes
	Why  string        // the reason, for the user
}

// Delete deletes the files of Trees that the server no longer has. All trees must have been listed whole. No other code
// decides what to delete. Delete deletes a file if
//   - a ledger says that it came from a tree, from the same login directory, and it has not changed since;
//   - no tree of the run has a file of its path;
//   - the filters do not leave it out;
//   - a whole listing lacks it or a directory above it;
//   - and then, in each of three rounds on new connections, another listing lacks it too, the server's reply about it
//     is, word for word, its reply about a random name, and the server still reports the size of another file of the
//     tree;
//   - and the output directory does not take its name for another spelling of a name that the server has.
//
// A file that is not listed, but not proved to be gone, stays, and Delete returns an error that counts such files, after
// it has deleted the others.
//
// If a reply contradicts a listing, or there is a ledger without a record, Delete returns an error and deletes nothing, of
// any tree. With Excluded, Delete
// also deletes the files that the filters leave out, without asking the server: they are unwanted, whether the server
// has them or not.
func (s *Source) Delete(ctx context.Context, d Deletion) error {
	l, err := ledger.OpenToRead(d.Root)
	if err != nil {
		return err
	}
	defer l.Close()
	lost, left, err := s.candidates(d, l)
	if err == nil && l.Blank() {
		const why = "the ledger is empty, so nothing tells which files were saved here"
		err = &localfile.Error{Path: filepath.Join(d.Root.Name(), ledger.Name), Reason: why}
	}
	var tooMany error
	cleared := int(s.cleared.Load())
	if n := len(lost) + len(left) + cleared; n > max(d.Most, cleared) {
		files := printable.Count(int64(n), "file", "files")
		nothing := "nothing deleted"
		if cleared > 0 {
			nothing = "nothing else deleted"
		}
		tooMany = &localfile.Error{Path: d.Root.Name(), Reason: fmt.Sprintf(
			"%s: %s would go, more than --max-delete %d (--dry-run shows them)", nothing, files, d.Most)}
		if !d.Dry {
			return tooMany
		}
	}
	q := &inquiry{Source: s, here: outputOf(d.Root), empty: d.Most == math.MaxInt}
	if err == nil {
		lost, err = q.confirm(ctx, lost)
	}
	if err != nil {
		return cmp.Or(tooMany, fmt.Errorf("nothing deleted: %w", err))
	}
	lost = append(lost, q.unwanted(left)...)
	slices.SortFunc(lost, byPath)
	err = d.carryOut(l, lost)
	return cmp.Or(err, tooMany, q.unproved.err(d.Root.Name()), q.strange)
}

// unwanted returns the files of left that are surely not what a wanted name of the server means here.
func (q *inquiry) unwanted(left []missing) (sure []missing) {
	for _, m := range left {
		if foldsAnywhere(q.here, m.path) {
			const why = "its directory takes other spellings of the name for it, and the filters may want one"
			q.unproved.add(m.path, why)
		} else {
			sure = append(sure, m)
		}
	}
	return sure
}

// candidates returns the files of the ledger that may be deleted, sorted by path: in lost the files that the listings
// lack, and in left, with Excluded, the files that the filters leave out.
func (s *Source) candidates(d Deletion, l *ledger.Ledger) (lost, left []missing, err error) {
	all := make(map[string]missing) // keyed by path
	err = l.Each(func(r ledger.Record) {
		if m := s.missing(r, d.Excluded); m.path != "" && m.find(d.Root, l) {
			all[m.path] = m
		}
	})
	for _, m := range slices.SortedFunc(maps.Values(all), byPath) {
		if m.left {
			left = append(left, m)
		} else {
			lost = append(lost, m)
		}
	}
	return lost, left, err
}

func byPath(a, b missing) int { return cmp.Compare(a.path, b.path) }

// carryOut deletes the files that still match the ledger.
func (d Deletion) carryOut(l *ledger.Ledger, lost []missing) error {
	trash := ""
	if d.Backup {
		// no other run uses this directory
		trash = ".ftpfetch-trash/" + time.Now().UTC().Format("2006-01-02T150405.000000000Z")
	}
	var dirs disk.Dirs // of the backups
	for _, m := range lost {
		if !m.find(d.Root, l) {
			continue
		}
		if !d.Dry {
			if err := m.remove(d.Root, trash, &dirs); err != nil {
				return localfile.Failure(filepath.Join(d.Root.Name(), m.path), "cannot be deleted",
					err)
			}
		}
		d.Tell(Gone{Path: m.path, URL: m.url, Size: m.size, Why: m.why()})
	}
	return dirs.Close()
}

// why returns the reason why the file is deleted.
func (m *missing) why() string {
	switch {
	case m.left:
		return "left out by the filters"
	case m.kinds != "":
		return m.kinds
	}
	return "no longer on the server"
}

// remove deletes the file or moves it to trash. It also deletes those of the m.dirs directories above it that are
// empty.
func (m *missing) remove(root *os.Root, trash string, dirs *disk.Dirs) error {
	if err := m.discard(root, trash, dirs); err != nil {
		return err
	}
	dir := m.path
	for range m.dirs {
		dir = path.Dir(dir)
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() || root.Remove(dir) != nil {
			break
		}
	}
	return nil
}

// discard deletes the file or moves it to trash.
func (m *missing) discard(root *os.Root, trash string, dirs *disk.Dirs) error {
	if trash == "" {
		return root.Remove(m.path)
	}
	dir := path.Join(trash, path.Dir(m.path))
	if _, err := dirs.Make(root, dir); err != nil {
		return err
	}
	dirs.Fresh(root, dir)
	return root.Rename(m.path, path.Join(trash, m.path))
}
