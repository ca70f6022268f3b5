package download

import (
	"context"
	"io/fs"
	"path/filepath"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
)

// inTheWay returns the path of what is in the way of a directory, or of a file if dir is false: a file where a directory
// is needed, or the reverse. It returns "" if nothing is.
func (b *engine) inTheWay(target string, dir bool) (at string) {
	if b.root == nil || target == "" {
		return ""
	}
	for i := range len(target) + 1 {
		if i < len(target) && target[i] != '/' {
			continue
		}
		last := i == len(target)
		info, err := b.root.Stat(target[:i])
		switch {
		case err != nil:
			return ""
		case !info.IsDir() && (!last || dir), info.IsDir() && last && !dir:
			return target[:i]
		}
	}
	return ""
}

// otherKind returns the error that what is at a path has another kind on the server.
func (b *engine) otherKind(at string) error {
	what := "is a file here and a directory on the server"
	if info, err := b.root.Stat(at); err == nil && info.IsDir() {
		what = "is a directory here and a file on the server"
	}
	return &localfile.Error{Path: disk.Below(b.root, filepath.FromSlash(at)), Reason: what, Err: localfile.ErrKind}
}

// findAgain returns the place of a file that could not be found because of err. If something of another kind is in its
// way, findAgain makes way for it, or returns an error that says what it is. In a dry run the place is nil if way would
// be made.
func (b *engine) findAgain(ctx context.Context, j *job, err error) (*partfile.Place, error) {
	at := ""
	if j.in != nil {
		at = b.inTheWay(j.Path, false)
	}
	if at == "" {
		return nil, err
	}
	err = b.makeWay(ctx, j, at)
	if err != nil || b.Dry {
		return nil, err
	}
	return b.group.Find(b.root, j.Path)
}

// makeWay has the caller of Run remove what is at the path at, in the way of j. That a directory is one on the server is
// certain, because it was listed; a file must show its size.
func (b *engine) makeWay(ctx context.Context, j *job, at string) error {
	b.clearing.Lock()
	defer b.clearing.Unlock()
	kind := b.otherKind(at)
	switch {
	case b.MakeWay == nil:
		return kind
	case b.cleared[at]:
		return nil
	}
	if j.dir == nil && at == j.Path {
		var e ftpexec.Entry
		err := b.again(ctx, func() (err error) { e, err = b.src.Stat(ctx, j.url()); return err })
		if err != nil {
			return err
		}
		if e.Size < 0 || e.Mode&^fs.ModePerm != 0 {
			return kind
		}
	}
	err := func() error {
		b.telling.Lock()
		defer b.telling.Unlock()
		return b.MakeWay(at)
	}()
	if err == nil && b.Dry {
		b.cleared[at] = true
	}
	return err
}
