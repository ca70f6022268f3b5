package download

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/internal/owner"
)

// choice says what to do about the target.
type choice struct {
	skip      string         // why to leave it alone; "" means not to
	overwrite bool           // it may be replaced
	start     fs.FileInfo    // not nil: Continue takes it as the start of the server's file,
	whole     *ftpexec.Entry // which is this
}

// choose decides what to do about the target. It asks the server if Newer or Continue make that depend on the server's
// file.
func (j *job) choose(ctx context.Context, to *partfile.Place) (choice, error) {
	switch {
	case to.Info == nil, j.o.Overwrite && !j.o.Newer:
		return choice{overwrite: j.o.Overwrite}, nil
	case j.o.Newer, j.o.Continue:
		return j.against(ctx, to)
	case j.o.Skip:
		return choice{skip: leftExists}, nil
	}
	return choice{}, &localfile.Error{Path: to.Path, Reason: "already exists", Err: fs.ErrExist}
}

// against decides what to do about the target by what the server says about its file. Newer retrieves one that is newer or
// of another size. Continue takes the target for its start; with Newer, only if the target is no older and shorter.
func (j *job) against(ctx context.Context, to *partfile.Place) (choice, error) {
	refuse := func(format string, args ...any) (choice, error) {
		return choice{}, because(ErrResume, "%s: "+format, append([]any{to.Path}, args...)...)
	}
	never := "" // why the target is the start of no file
	switch {
	case j.text() || !to.Info.Mode().IsRegular():
		never = "only a regular file can be resumed, and not as text (;type=a)"
	case !owner.Ours(to.Info):
		never = "cannot be resumed: it belongs to another user"
	}
	if never != "" && !j.o.Newer {
		return refuse("%s", never)
	}
	for _, suffix := range []string{".aria2", ".lftp-pget-status"} { // whose files have their full size from the start
		if _, err := os.Lstat(to.Path + suffix); err == nil {
			return refuse("lacks pieces, as %s%s tells", to.Path, suffix)
		}
	}
	local, err := to.Stat()
	switch {
	case errors.Is(err, fs.ErrNotExist) && to.Info.Mode().IsRegular():
		return choice{}, partfile.ErrMoved
	case err != nil:
		return choice{}, localfile.Failure(to.Path, "cannot be examined", err)
	}
	info, err := j.ask(ctx)
	if err != nil {
		return choice{}, err
	}
	fresh, comparable := info.ModTime.After(local.ModTime()), info.Size >= 0 && !j.text()
	switch {
	case !j.o.Newer:
	case info.ModTime.IsZero():
		j.o.note("the server does not report the file's time: retrieving it")
		return choice{overwrite: true}, nil
	case !fresh && (!comparable || info.Size == local.Size()):
		return choice{skip: leftOlder}, nil
	case fresh || !j.o.Continue || info.Size < local.Size():
		return choice{overwrite: true}, nil
	}
	switch {
	case never != "":
		return refuse("%s", never)
	case info.Size < 0:
		return refuse("cannot be resumed: the server does not report the file's size")
	case local.Size() > info.Size:
		return refuse("has %d bytes, but the server's file has only %d", local.Size(), info.Size)
	case fresh:
		return refuse("is older than the server's file, which has changed since")
	case local.Size() == info.Size:
		return choice{skip: leftComplete}, nil
	}
	return choice{overwrite: true, start: local, whole: info}, nil
}

// find claims the part of the target, and takes what it holds as the start if this run may.
func (j *job) find(ctx context.Context, to *partfile.Place, c choice) (*transfer, error) {
	p, err := to.Claim(j.url)
	if err != nil {
		return nil, err
	}
	t := &transfer{job: j, part: p, segments: max(1, j.o.Segments)}
	if err = t.take(ctx, c); err == nil && c.overwrite {
		err = p.Like(to.Info)
	}
	if err != nil {
		p.Leave(false)
		return nil, err
	}
	return t, nil
}

// take decides about what the part holds, and may take the target in its place.
func (t *transfer) take(ctx context.Context, c choice) error {
	p := t.part
	why, err := t.useless(ctx, c.start)
	switch {
	case err != nil:
		return err
	case why == "" && len(p.Left.Done) > 0:
		t.retry.Reached.Store(true) // the bytes came from the server, so the address is right
		p.Resume()
	case c.start != nil:
		t.o.reading(p.Path, c.start.Size())
		return p.Copy(ctx, c.start, c.whole.Size, c.whole.ModTime)
	case why != "":
		t.stale = p.Name() + ": " + why
	}
	return nil
}

// useless says why a run cannot resume from the part, or "". It removes damaged blocks from what is left.
func (t *transfer) useless(ctx context.Context, from fs.FileInfo) (why string, err error) {
	p, s := t.part, &t.part.Left
	switch {
	case p.LeftErr != nil:
		return p.LeftErr.Error(), nil
	case len(s.Done) == 0:
		return "", nil
	case t.o.NoResume:
		return "not resumed, as requested", nil
	case s.Adopted > 0 && !t.o.Continue, from != nil && s.Adopted > 0 && s.Adopted != from.Size():
		return "it starts with bytes that another program left", nil
	case s.URL != t.url:
		return "it belongs to another URL", nil
	case t.text():
		return cannotResumeText, nil
	}
	t.o.reading(p.Name(), s.Done.Octets())
	all := len(s.Blocks)
	err = p.Check(ctx)
	switch bad := all - len(s.Blocks); {
	case err != nil || bad == 0:
		return "", err
	case bad == all || s.Done.Head() < s.Adopted:
		return "it does not match its journal", nil
	default:
		t.o.note(fmt.Sprintf("%s: %d of %d blocks are damaged: fetching them again", p.Name(), bad, all))
		return "", nil
	}
}

// keeps refuses to give up the bytes that Continue takes as the start of the file.
func (t *transfer) keeps(why string) error {
	if t.part.Snapshot().Adopted == 0 {
		return nil
	}
	return because(ErrResume, "%s: %s", t.part.Path, why)
}
