package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/owner"
)

// choice says what to do about the target.
type choice struct {
	skip      Reason // why to leave it alone; 0 means not to
	overwrite bool   // it may be replaced
	start     *start // not nil: it is the start of the file
}

// choose decides what to do about the target. It asks the server if Newer or
// Continue make that depend on the server's file.
func (j *job) choose(ctx context.Context, t target) (choice, error) {
	whole, err := j.tidy(ctx, &t)
	switch {
	case err != nil:
		return choice{}, err
	case t.info == nil:
		return choice{overwrite: j.o.Existing == Overwrite}, nil
	case j.o.Newer:
		return j.newer(ctx, t)
	case j.o.Continue:
		return j.extend(ctx, t, nil, nil)
	case j.o.Existing == Overwrite:
		return choice{overwrite: true}, nil
	case j.o.Existing == Skip:
		return choice{skip: ReasonExists}, nil
	case whole:
		return choice{skip: ReasonComplete}, nil
	}
	return choice{}, exists(t.path)
}

// tidy cleans up after a run that was killed after it named the target but
// before it removed the journal. It reports whether the target is the file that
// this run should retrieve, whole and unchanged.
func (j *job) tidy(ctx context.Context, t *target) (whole bool, err error) {
	if !t.named() {
		return false, nil
	}
	f, err := t.open(os.O_RDONLY)
	if errors.Is(err, fs.ErrPermission) { // it can be locked, but not compared
		f, err = t.open(os.O_WRONLY)
	}
	if err == nil {
		defer f.Close()
		if _, err = lock(f); err == nil && !t.named() {
			err = errMoved // the other run has ended meanwhile
		}
		if err == nil {
			whole, err = j.brought(ctx, t, f)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return false, err
	}
	if info, err := t.lstat(t.partial); err == nil && os.SameFile(info, t.info) {
		if err := t.remove(t.partial); err != nil {
			return false, failure(t.partial, "cannot be removed", err)
		}
	}
	if err := t.removeJournal(); err != nil {
		return false, failure(t.journal, "cannot be removed", err)
	}
	t.info, err = t.lstat(t.path)
	return whole, failure(t.path, "cannot be examined", err)
}

// named reports whether this user's journal is about the target: a run was
// stopped after it had given the part its final name.
func (t target) named() bool {
	if t.info == nil || !owner.Ours(t.info) {
		return false
	}
	if info, err := t.lstat(t.journal); err != nil || !owner.Ours(info) {
		return false
	}
	s, err := t.readJournal(t.journal)
	return err == nil && s.about(t.info)
}

// brought reports whether f, the target, has what its journal says and the
// server's file is still the same.
func (j *job) brought(ctx context.Context, t *target, f *os.File) (bool, error) {
	s, err := t.readJournal(t.journal)
	if err != nil || !s.complete || s.url != j.url || s.size != t.info.Size() || j.replaces() {
		return false, nil
	}
	if good, err := s.blocks.sound(diskReader{ctx, f}); err != nil || len(good) < len(s.blocks) {
		return false, failure(t.path, "cannot be read", err)
	}
	info, _, err := j.ask(ctx, *t)
	if err != nil {
		return false, err
	}
	same := (info.Size < 0 || j.text() || info.Size == s.size) && info.ModTime.Equal(s.modTime)
	return same, nil
}

// replaces reports whether a flag says what happens to a target that exists.
func (j *job) replaces() bool { return j.o.Newer || j.o.Continue || j.o.Existing != Refuse }

// open opens the target. The error is errMoved if it is another file now.
func (t target) open(flag int) (*os.File, error) {
	f, err := t.openRegular(t.path, flag)
	switch {
	case errors.Is(err, errMoved), errors.Is(err, fs.ErrNotExist):
		return nil, errMoved
	case err != nil:
		return nil, failure(t.path, "cannot be opened", err)
	}
	return f, nil
}

// ask asks the server for its file's size and time, and the system for the
// target's.
func (j *job) ask(ctx context.Context, t target) (info *ftpexec.Entry, local fs.FileInfo, err error) {
	local, err = t.stat(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && t.info.Mode().IsRegular():
		return nil, nil, errMoved
	case err != nil:
		return nil, nil, failure(t.path, "cannot be examined", err)
	}
	err = j.retry.Do(ctx, func() (err error) {
		info, err = j.stat(ctx)
		return err
	})
	return info, local, err
}

// newer decides whether to retrieve the file because it is newer than the target
// or of another size. A target that is only shorter is continued if Continue
// asks for that.
func (j *job) newer(ctx context.Context, t target) (choice, error) {
	info, local, err := j.ask(ctx, t)
	if err != nil {
		return choice{}, err
	}
	fresh, comparable := info.ModTime.After(local.ModTime()), info.Size >= 0 && !j.text()
	switch {
	case info.ModTime.IsZero():
		j.o.note("the server does not report the file's time: retrieving it")
	case !fresh && comparable && j.o.Continue && info.Size > local.Size():
		return j.extend(ctx, t, info, local)
	case !fresh && (!comparable || info.Size == local.Size()):
		return choice{skip: ReasonNotNewer}, nil
	}
	return choice{overwrite: true}, nil
}

// start is a target that Continue takes as the start of the file.
type start struct {
	info  fs.FileInfo
	state state // of a part with a copy of it
}

// extend checks whether the rest of the target can be fetched, and whether there
// is any. info and local are what ask has returned, or nil.
func (j *job) extend(ctx context.Context, t target, info *ftpexec.Entry, local fs.FileInfo) (_ choice, err error) {
	refuse := func(format string, args ...any) (choice, error) {
		return choice{}, &Error{Path: t.path, Reason: fmt.Sprintf(format, args...), Err: ErrResume}
	}
	switch {
	case j.text() || !t.info.Mode().IsRegular():
		return refuse("only a regular file in image type can be resumed")
	case !owner.Ours(t.info):
		return refuse("cannot be resumed: it belongs to another user")
	}
	if info == nil {
		if info, local, err = j.ask(ctx, t); err != nil {
			return choice{}, err
		}
	}
	switch {
	case info.Size < 0:
		return refuse("cannot be resumed: the server does not report the file's size")
	case local.Size() > info.Size:
		return refuse("has %d bytes, but the server's file has only %d", local.Size(), info.Size)
	case info.ModTime.After(local.ModTime()):
		return refuse("%s", older)
	case local.Size() == info.Size:
		return choice{skip: ReasonComplete}, nil
	}
	j.o.reading(t.path, local.Size())
	s := state{url: j.url, size: info.Size, modTime: info.ModTime, adopted: local.Size()}
	return choice{overwrite: true, start: &start{local, s}}, nil
}

const older = "is older than the server's file, which has changed since"

// unchanged reports whether the file is still the one that s describes.
func (s *start) unchanged(now fs.FileInfo, err error) bool {
	return err == nil && os.SameFile(now, s.info) && now.Size() == s.info.Size() && now.ModTime().Equal(s.info.ModTime())
}

// copyTo fills the part, which is empty, with the target. The journal comes first: it
// marks the part as this package's.
func (s *start) copyTo(ctx context.Context, t target, p *part) error {
	f, err := t.open(os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if !s.unchanged(fstat(f)) {
		return errMoved
	}
	if err := p.write(state{url: s.state.url, size: -1}, false); err != nil {
		return err
	}
	for err == nil {
		if err = (diskReader{ctx, f}).ready(); err == nil {
			_, err = io.CopyN(p.f, f, 64<<20) // within the kernel, where that is possible
		}
	}
	if err != io.EOF {
		return failure(p.partial, "cannot be written", err)
	}
	p.replaces = s
	return failure(p.partial, "cannot be read", s.state.has(diskReader{ctx, p.f}, s.info.Size()))
}
