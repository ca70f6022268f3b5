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
)

// Deletion says how to delete.
type Deletion struct {
	Root *os.Root // the output directory
	// how many files may be deleted; math.MaxInt: any number, also if the server has no file left
	Most   int
	Backup bool              // they are moved to a new directory in .ftpfetch-trash instead
	Dry    bool              // nothing is deleted, only told
	Tell   func(name string) // is called with the path below Root of each file
}

// Delete deletes files of the Trees that the server no longer has. All trees must have been listed whole. It is the one
// place that decides. A file is deleted if
//   - a ledger says that it came from below a tree, from the same login directory, and it is still as it was then;
//   - no tree of the run has a file of its path;
//   - a whole listing lacks it or a directory above it;
//   - then, three times, each time on a new connection, another listing lacks it too, the server says of it, word for word,
//     what it says of a name that nobody has, and still tells of another file of the same tree.
//
// What contradicts that is an error, and nothing is deleted, of any tree.
func (s *Source) Delete(ctx context.Context, d Deletion) error {
	l, err := ledger.Open(d.Root, ledger.Name)
	if err != nil {
		return err
	}
	defer l.Close()
	all := make(map[string]missing) // by path
	err = l.Each(func(r ledger.Record) {
		if m := s.missing(r); m.in != nil && m.find(d.Root, l) {
			all[m.path] = m
		}
	})
	if len(all) > d.Most && !d.Dry {
		files := printable.Count(int64(len(all)), "file is", "files are")
		return &localfile.Error{Path: d.Root.Name(), Reason: fmt.Sprintf(
			"%s no longer on the server, more than --max-delete %d: nothing is deleted (--dry-run shows them)", files, d.Most)}
	}
	lost := slices.SortedFunc(maps.Values(all), byPath)
	q := &inquiry{Source: s, empty: d.Most == math.MaxInt}
	if err == nil {
		lost, err = q.confirm(ctx, lost)
	}
	if err != nil {
		return fmt.Errorf("nothing is deleted: %w", err)
	}
	slices.SortFunc(lost, byPath)
	return cmp.Or(d.carryOut(l, lost), q.strange)
}

func byPath(a, b missing) int { return cmp.Compare(a.path, b.path) }

// carryOut deletes the files that are still as the ledger says.
func (d Deletion) carryOut(l *ledger.Ledger, lost []missing) error {
	trash := ""
	if d.Backup {
		// no other run has it
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
		d.Tell(m.path)
	}
	return dirs.Close()
}

// remove deletes the file or moves it to trash, and deletes the directories that are gone from the server and empty.
func (m *missing) remove(root *os.Root, trash string, dirs *disk.Dirs) error {
	if err := m.discard(root, trash, dirs); err != nil {
		return err
	}
	dir := m.path
	for range len(m.url.Dirs) - len(m.in.Dirs) { // those below the one that lacks them
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
	_, err := dirs.Make(root, dir)
	dirs.Fresh(root, dir)
	return cmp.Or(err, root.Rename(m.path, path.Join(trash, m.path)))
}
