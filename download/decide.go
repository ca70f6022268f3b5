package download

import (
	"context"
	"fmt"
	"os"

	"example.com/ftpfetch/ftpexec"
)

// decide looks at a target that exists where Newer or Continue say what that
// means, and asks the server for its file's size and time. It reports whether
// there is nothing to retrieve.
func (r *retrieval) decide(ctx context.Context) (skip bool, err error) {
	if r.t.info == nil || !r.o.Newer && !r.o.Continue {
		return false, nil
	}
	local, err := os.Stat(r.t.path)
	if err != nil {
		return false, failure(r.t.path, "cannot be looked at", err)
	}
	if r.o.Continue && (r.text() || !r.t.info.Mode().IsRegular()) {
		return false, &refusal{ErrResume, r.t.path + ": only a regular file in image type can be continued"}
	}
	var info *ftpexec.Info
	err = r.retry.do(ctx, func() (err error) {
		info, err = r.src.Stat(ctx, r.u)
		return err
	})
	if err != nil {
		return false, err
	}
	if r.o.Newer {
		return r.current(info, local), nil
	}
	return r.adopt(info, local.Size())
}

// leaveTarget is the end where the target is as good as the server's file. It
// is verified all the same where that is asked for, and stays whatever comes
// out.
func (r *retrieval) leaveTarget(ctx context.Context) (Result, error) {
	result := skipped(r.t.path)
	if err := r.expect(ctx); err != nil || r.check == nil {
		return result, err
	}
	f, err := os.Open(r.t.path)
	if err != nil {
		return Result{}, failure(r.t.path, "cannot be opened", err)
	}
	defer f.Close()
	if err := r.check.reach(f, result.Size); err != nil {
		return Result{}, failure(r.t.path, "cannot be read", err)
	}
	result.Verified = r.check.from
	return result, r.check.compare()
}

// current reports whether the target is as good as the server's file: no
// older, and in image type of the same size.
func (r *retrieval) current(info *ftpexec.Info, local os.FileInfo) bool {
	switch {
	case info.ModTime.IsZero():
		r.o.note("the server does not tell the file's time: retrieving it")
		return false
	case info.Size >= 0 && !r.text() && info.Size != local.Size():
		return false
	}
	return !info.ModTime.After(local.ModTime())
}

// adopt makes the target, of which has octets are there, the part. From here
// on the file is in the same state as after a run of ours that was killed.
func (r *retrieval) adopt(info *ftpexec.Info, has int64) (complete bool, err error) {
	refuse := func(format string, args ...any) (bool, error) {
		return false, &refusal{ErrResume, r.t.path + ": " + fmt.Sprintf(format, args...)}
	}
	switch {
	case info.Size < 0:
		return refuse("cannot be continued: the server does not tell the file's size")
	case has > info.Size:
		return refuse("has %d octets, but the server's file only %d", has, info.Size)
	case has == info.Size:
		return true, nil
	}
	part := r.t.path + partSuffix
	if err := removeLeftover(part, Refuse); err != nil {
		return false, err
	}
	// The journal comes first: without it the part would not be known for what
	// it is, while without a part it is of no account.
	s := state{url: journalURL(r.u), size: info.Size, modTime: info.ModTime, done: spans{}.add(span{0, has})}
	if err := writeJournal(r.t.path+journalSuffix, s, true); err != nil {
		return false, failure(r.t.path+journalSuffix, "cannot be written", err)
	}
	if err := os.Rename(r.t.path, part); err != nil {
		return false, failure(r.t.path, "cannot be renamed", err)
	}
	r.borrowed, r.t.info = has, nil
	return false, syncDir(dirOf(part))
}

// giveBack undoes adopt where a run came to nothing.
func (r *retrieval) giveBack(err error) error {
	s := r.ledger.snapshot()
	if r.borrowed == 0 || s.done.octets() != r.borrowed {
		return err
	}
	if _, serr := os.Lstat(r.t.path); serr == nil || !r.ledger.part.ours() {
		return err
	}
	if r.ledger.part.f.Truncate(r.borrowed) == nil && os.Rename(r.ledger.part.path, r.t.path) == nil {
		r.ledger.part.placed = true
		r.ledger.removeJournal()
	}
	return err
}
