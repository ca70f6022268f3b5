package download

import (
	"context"
	"fmt"
	"os"

	"example.com/ftpfetch/ftpexec"
)

// decide looks at a target that exists where Newer or Continue say what that
// means, and asks the server for its file's size and time. It says why there is
// nothing to retrieve, or 0.
func (r *retrieval) decide(ctx context.Context) (Reason, error) {
	if r.t.info == nil || !r.o.Newer && !r.o.Continue {
		return 0, nil
	}
	local, err := os.Stat(r.t.path)
	if err != nil {
		return 0, failure(r.t.path, "cannot be looked at", err)
	}
	if r.o.Continue {
		if err := r.mayContinue(); err != nil {
			return 0, err
		}
	}
	var info *ftpexec.Info
	err = r.retry.do(ctx, func() (err error) {
		info, err = r.src.Stat(ctx, r.u)
		return err
	})
	switch {
	case err != nil:
		return 0, err
	case !r.o.Newer:
		return r.adopt(info, local.Size())
	case r.current(info, local):
		return ReasonNotNewer, nil
	}
	return 0, nil
}

// mayContinue refuses a target that cannot be written to as it is.
func (r *retrieval) mayContinue() error {
	what := ""
	switch {
	case r.text() || !r.t.info.Mode().IsRegular():
		what = "only a regular file in image type can be continued"
	case links(r.t.info) > 1:
		what = "has other names, which would be written to as well"
	case !isOurs(r.t.info):
		what = "cannot be continued: it belongs to another user"
	default:
		return nil
	}
	return &refusal{ErrResume, r.t.path + ": " + what}
}

// leaveTarget is the end where the target is as good as the server's file. It
// is verified all the same where that is asked for, and stays whatever comes
// out.
func (r *retrieval) leaveTarget(ctx context.Context, reason Reason) (Result, error) {
	result := skipped(r.t.path, reason)
	if err := r.expect(ctx); err != nil || r.check == nil {
		return result, err
	}
	f, err := os.Open(r.t.path)
	if err != nil {
		return Result{}, failure(r.t.path, "cannot be opened", err)
	}
	defer f.Close()
	if err := r.check.reach(ctx, f, result.Size, r.t.path); err != nil {
		return Result{}, err
	}
	if err := r.check.compare(); err != nil {
		return Result{}, err
	}
	result.Verified = r.check.from
	return result, nil
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
func (r *retrieval) adopt(info *ftpexec.Info, has int64) (Reason, error) {
	refuse := func(format string, args ...any) (Reason, error) {
		return 0, &refusal{ErrResume, r.t.path + ": " + fmt.Sprintf(format, args...)}
	}
	switch {
	case info.Size < 0:
		return refuse("cannot be continued: the server does not tell the file's size")
	case has > info.Size:
		return refuse("has %d octets, but the server's file only %d", has, info.Size)
	case has == info.Size:
		return ReasonComplete, nil
	}
	part, journal := r.t.path+partSuffix, r.t.path+journalSuffix
	if err := checkJournal(journal); err != nil {
		return 0, err
	}
	if err := removeLeftover(part, Refuse); err != nil {
		return 0, err
	}
	// The journal comes first: without it the part would not be known for what
	// it is, while without a part it is of no account.
	s := state{url: journalURL(r.u), size: info.Size, modTime: info.ModTime, adopted: has, done: spans{}.add(span{0, has})}
	if err := journalOf(r.t.path, journal, s); err != nil {
		return 0, err
	}
	if err := os.Rename(r.t.path, part); err != nil {
		removeJournal(journal)
		return 0, failure(r.t.path, "cannot be renamed", err)
	}
	r.borrowed, r.moved, r.t.info = has, true, nil
	return 0, syncDir(dirOf(part))
}

// journalOf writes a journal for s, whose octets are at path.
func journalOf(path, journal string, s state) error {
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return failure(path, "cannot be opened", err)
	}
	defer f.Close()
	if s.tails, err = tailsOf(f, s.done); err != nil {
		return failure(path, "cannot be read", err)
	}
	if err := writeJournal(journal, s, true); err != nil {
		return failure(journal, "cannot be written", err)
	}
	return nil
}

// unadopt undoes adopt where the part could not even be taken.
func (r *retrieval) unadopt(err error) error {
	if !r.moved {
		return err
	}
	if moveToFree(r.t.path+partSuffix, r.t.path) == nil {
		removeJournal(r.t.path + journalSuffix)
	}
	return err
}

// giveBack undoes adopt where a run came to nothing.
func (r *retrieval) giveBack(err error) error {
	p := r.ledger.part
	if !r.moved || r.ledger.snapshot().done.octets() != r.borrowed || !p.ours() {
		return err
	}
	cut := p.f.Truncate(r.borrowed)
	p.close() // Windows renames no open file
	if cut == nil && moveToFree(p.path, r.t.path) == nil {
		p.placed = true
		removeJournal(r.ledger.path)
	}
	return err
}
