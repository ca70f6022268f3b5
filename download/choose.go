package download

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"example.com/ftpfetch/ftpexec"
)

// choice is what is to be done about a target that exists.
type choice struct {
	leave     Reason // why it is left alone; 0: it is not
	overwrite bool   // it may be replaced
	lent      *lent  // the rest of it is to be fetched
}

// choose decides about the target, and asks the server where Newer or Continue
// make that depend on the server's file.
func (j *job) choose(ctx context.Context, t target) (choice, error) {
	whole, err := t.tidy(ctx)
	switch {
	case err != nil:
		return choice{}, err
	case t.info == nil:
		return choice{overwrite: j.o.Existing == Overwrite}, nil
	case j.o.Newer:
		current, err := j.current(ctx, t)
		if current {
			return choice{leave: ReasonNotNewer}, err
		}
		return choice{overwrite: true}, err
	case j.o.Continue:
		return j.lend(ctx, t)
	case j.o.Existing == Overwrite:
		return choice{overwrite: true}, nil
	case j.o.Existing == Skip:
		return choice{leave: ReasonExists}, nil
	case whole:
		return choice{leave: ReasonComplete}, nil
	}
	return choice{}, exists(t.path)
}

// tidy ends what an earlier run left that was stopped between naming the target
// and removing the journal. It reports whether the target is that run's file,
// whole and unchanged.
func (t *target) tidy(ctx context.Context) (whole bool, err error) {
	if s, err := readJournal(t.journal); err != nil || !s.about(t.info) {
		return false, nil
	}
	f, err := t.open(os.O_RDONLY)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := lock(f); err != nil {
		return false, err
	}
	s, err := readJournal(t.journal)
	if err != nil || !s.about(t.info) {
		return false, errMoved // the run has ended meanwhile
	}
	if s.complete {
		bad, _, err := s.sums.damaged(diskReader{ctx, f})
		if err != nil {
			return false, failure(t.path, "cannot be read", err)
		}
		whole = len(bad) == 0 && s.size == t.info.Size()
	}
	if info, err := lstat(t.part); err == nil && os.SameFile(info, t.info) {
		if err := remove(t.part); err != nil {
			return false, failure(t.part, "cannot be removed", err)
		}
	}
	if err := removeJournal(t.names); err != nil {
		return false, failure(t.journal, "cannot be removed", err)
	}
	if t.info, err = lstat(t.path); err != nil {
		return false, failure(t.path, "cannot be looked at", err)
	}
	return whole, nil
}

// open opens the target. The error is errMoved where it is another file now.
func (t target) open(flag int) (*os.File, error) {
	f, err := openRegular(t.path, flag)
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
func (j *job) ask(ctx context.Context, t target) (info *ftpexec.Info, local fs.FileInfo, err error) {
	local, err = stat(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && t.info.Mode().IsRegular():
		return nil, nil, errMoved
	case err != nil:
		return nil, nil, failure(t.path, "cannot be looked at", err)
	}
	err = j.retry.do(ctx, func() (err error) {
		info, err = j.src.Stat(ctx, j.u)
		return err
	})
	return info, local, err
}

// current reports whether the target is as good as the server's file: no
// older, and in image type of the same size.
func (j *job) current(ctx context.Context, t target) (bool, error) {
	info, local, err := j.ask(ctx, t)
	switch {
	case err != nil:
		return false, err
	case info.ModTime.IsZero():
		j.o.note("the server does not tell the file's time: retrieving it")
		return false, nil
	case info.Size >= 0 && !j.text() && info.Size != local.Size():
		return false, nil
	}
	return !info.ModTime.After(local.ModTime()), nil
}

// lend looks whether the rest of the target can be fetched, and whether there
// is any. It moves nothing.
func (j *job) lend(ctx context.Context, t target) (choice, error) {
	refuse := func(format string, args ...any) (choice, error) {
		return choice{}, &Error{Path: t.path, Reason: fmt.Sprintf(format, args...), Err: ErrResume}
	}
	switch {
	case j.text() || !t.info.Mode().IsRegular():
		return refuse("only a regular file in image type can be continued")
	case links(t.info) > 1:
		return refuse("has other names, which would be written to as well")
	case !isOurs(t.info):
		return refuse("cannot be continued: it belongs to another user")
	}
	info, local, err := j.ask(ctx, t)
	switch {
	case err != nil:
		return choice{}, err
	case info.Size < 0:
		return refuse("cannot be continued: the server does not tell the file's size")
	case local.Size() > info.Size:
		return refuse("has %d bytes, but the server's file only %d", local.Size(), info.Size)
	case info.ModTime.After(local.ModTime()):
		return refuse("%s", older)
	case local.Size() == info.Size:
		return choice{leave: ReasonComplete}, nil
	}
	j.o.reading(t.path, local.Size())
	l, err := lendTarget(ctx, t, local, state{url: j.url, size: info.Size, modTime: info.ModTime, adopted: local.Size()})
	return choice{lent: l}, err
}

const older = "is older than the server's file, which has changed since"

// lendTarget locks the target and computes its checksums. s is what the server
// has told.
func lendTarget(ctx context.Context, t target, local fs.FileInfo, s state) (*lent, error) {
	f, err := t.open(os.O_RDWR)
	if err != nil {
		return nil, err
	}
	l := &lent{f: f, info: local, state: s}
	if err := l.hold(ctx, t.path); err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// hold locks the target and reads it. The error is errMoved where another run
// changed it before it was locked.
func (l *lent) hold(ctx context.Context, path string) error {
	if err := lock(l.f); err != nil {
		return err
	}
	now, err := fstat(l.f)
	switch {
	case err != nil:
		return failure(path, "cannot be looked at", err)
	case !os.SameFile(now, l.info), now.Size() != l.info.Size(), !now.ModTime().Equal(l.info.ModTime()):
		return errMoved
	}
	return failure(path, "cannot be read", l.state.has(diskReader{ctx, l.f}, l.info.Size()))
}
