package download

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"example.com/ftpfetch/download/internal/decide"
	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/guard"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/urlparse"
)

// save fetches a file to its place, whole or not at all, unless the target may stay. It calls begin for a new fetch
// each time it starts over because another run has changed the target.
func save(ctx context.Context, place *partfile.Place, begin func() *fetch) (r Result, err error) {
	err = place.Again(func() (err error) {
		f := &file{fetch: begin(), to: place}
		r, err = f.run(ctx)
		r.Retries = int(f.retries.Load())
		if errors.Is(err, partfile.ErrMoved) {
			err = cmp.Or(f.to.Look(), err)
		}
		return err
	})
	return r, guard.Ended(ctx, err)
}

// file is a fetch that saves its file.
type file struct {
	*fetch
	to       *partfile.Place // nil in a dry run that has no directory to save to
	facts    decide.Facts
	local    fs.FileInfo    // of the target, after following links; nil if there is none
	record   *record        // of the target; nil if there is none
	past     *ledger.Record // of the file as an earlier run fetched it; nil if there is none, or it does not matter
	has      Result         // the fields about the target's digest
	mismatch error          // why the target's digest is wrong
	t        *transfer      // nil until the part is claimed
}

// run finds out the facts that decide.Next asks for, and does what it decides. The error is [partfile.ErrMoved] if
// another run changed the target meanwhile.
func (f *file) run(ctx context.Context) (r Result, err error) {
	f.look()
	defer func() {
		if f.t == nil {
			return
		}
		kept := f.t.part.Leave(f.text())
		if err != nil {
			r = Result{Kept: kept}
		}
	}()
	for {
		f.lookUpRecord()
		a := decide.Next(&f.facts)
		if f.saidBefore && (a.Do == decide.Refuse || a.Do == decide.Fetch && a.Start == decide.FromTarget) {
			a.Do = decide.AskServer // the file may have grown meanwhile
		}
		switch a.Do {
		case decide.Leave:
			return f.leaveTarget(a.Why)
		case decide.Refuse:
			return Result{}, f.refuse(a)
		case decide.Fetch:
			return f.retrieve(ctx, a)
		default:
			err = f.find(ctx, a.Do)
		}
		if err != nil {
			return Result{}, err
		}
	}
}

// look fills in the facts that need neither the server nor the part.
func (f *file) look() {
	f.facts = decide.Facts{
		Flags: f.flags(), Text: f.text(), Given: f.Sum.Algorithm != "",
		Want: -1, Listed: f.listed,
	}
	if f.Size != nil {
		f.facts.Want = *f.Size
	}
	f.lookBack()
	if f.to == nil || f.to.Info == nil {
		return
	}
	f.facts.Here = decide.Regular
	f.facts.Ours = disk.Ours(f.to.Info)
	for _, suffix := range otherParts {
		if _, err := os.Lstat(f.to.Path + suffix); err == nil {
			f.facts.Pieces = f.to.Path + suffix
		}
	}
	f.local = f.to.Info
	if f.local.Mode()&fs.ModeSymlink != 0 {
		f.facts.Here = decide.Link
		aim, err := f.to.Stat()
		if err != nil { // the link leads to nothing, or out of the root
			f.facts.Here = decide.Dangling
			f.local = nil
			return
		}
		f.local = aim
	}
	f.facts.Local = decide.Stamp{Size: f.local.Size(), Time: f.local.ModTime()}
}

// otherParts are the suffixes of files that other programs keep beside an unfinished file which has its full size from
// the start.
var otherParts = []string{".aria2", ".lftp-pget-status"}

// lookBack looks up whether an earlier run fetched the file, or another run has just done so. If a run was killed when
// it had recorded the file, but before it gave the file its name, the file is still a part, whatever has become of that
// since.
func (f *file) lookBack() {
	f.past = f.caller.before()
	f.facts.Before = nil
	unnamed := func(int64) bool { return false }
	switch {
	case f.t != nil:
		unnamed = f.t.part.Unnamed
	case f.to != nil:
		unnamed = f.to.Unnamed
	}
	if f.past != nil && unnamed(f.past.Size) {
		f.past = nil
	}
	if f.past != nil {
		f.facts.Before = &decide.Stamp{Size: f.past.Size, Time: cmp.Or(f.past.Told, f.past.Modified)}
	}
}

// lookUpRecord looks up what an earlier run recorded about the target. run calls it again after each fact, because the
// server may have reported a newer time.
func (f *file) lookUpRecord() {
	if f.facts.Here != decide.Regular || f.facts.Part.Claimed {
		return
	}
	f.record = f.caller.recorded(f.facts.Newest(), f.to.Info)
	switch {
	case f.record == nil:
		f.facts.Record = decide.NoRecord
	case f.record.verified == "":
		f.facts.Record = decide.Fetched
	default:
		f.facts.Record = decide.Verified
	}
	if f.record != nil && !f.record.told.IsZero() {
		f.facts.Local.Time = f.record.told
	}
}

// find finds out the fact that what asks for.
func (f *file) find(ctx context.Context, what decide.Do) (err error) {
	switch what {
	case decide.AskServer:
		f.facts.Server, err = f.ask(ctx)
		f.facts.Asked = true
	case decide.AskDisk:
		f.tryTime()
	case decide.AskDigest:
		err = f.compare(ctx)
	case decide.AskPart:
		if err = f.begin(); err == nil {
			err = f.claim()
		}
	case decide.AskBlocks:
		err = f.checkPart(ctx)
	}
	return err
}

// tryTime finds out what the disk makes of the server's time. If the disk ignores it, a file that was saved later than
// that may be the server's.
func (f *file) tryTime() {
	told := f.facts.Newest()
	f.facts.Tried = told
	local := &f.facts.Local.Time
	kept, err := f.to.TryTime(told)
	ignored := time.Since(kept).Abs() < time.Minute && !told.After(*local)
	if err == nil && !localfile.SameTime(kept, told) && (localfile.SameTime(kept, *local) || ignored) {
		*local = told
	}
}

// compare compares the target's digest. It does not change the target.
func (f *file) compare(ctx context.Context) error {
	check, err := f.expected(ctx)
	f.facts.Digest = decide.Right
	if err != nil || check == nil { // nil: the file is itself a list of digests in a tree, and has no digest
		return err
	}
	f.reading(f.to.Path, f.facts.Local.Size)
	there, err := f.to.Open()
	if err != nil {
		return err
	}
	defer there.Close()
	check.reset()
	if err = check.reach(ctx, there, f.facts.Local.Size); err != nil {
		return err
	}
	f.mismatch = check.compare(&f.has)
	if f.mismatch != nil {
		f.facts.Digest = decide.Wrong
	}
	return nil
}

// claim claims the part and fills in the facts about it.
func (f *file) claim() error {
	p, err := f.to.Claim(f.key, func(p *partfile.Part) error { return f.caller.takesOver(f.to.Info, p.Unnamed) })
	if err != nil {
		return err
	}
	f.t = &transfer{fetch: f.fetch, part: p}
	f.left(p.Left, p.LeftErr)
	f.lookBack() // the run that had the part until now may have fetched the file
	return nil
}

// left fills in the facts about the part: s is the state that an earlier run left, and wrong is what is wrong with it,
// or nil.
func (f *file) left(s partfile.State, wrong error) {
	left := decide.Part{Claimed: true, Bytes: s.Done.Octets(), Adopted: s.Adopted}
	left.Other = left.Bytes > 0 && urlparse.KeyOf(s.URL) != f.key
	if wrong != nil {
		left.Broken = wrong.Error()
	}
	f.facts.Part = left
}

// checkPart compares the part with its journal. The transfer fetches damaged blocks again.
func (f *file) checkPart(ctx context.Context) error {
	p := f.t.part
	f.reading(p.Name(), p.Left.Done.Octets())
	all := len(p.Left.Blocks)
	if err := p.Check(ctx); err != nil {
		return err
	}
	bad := all - len(p.Left.Blocks)
	f.facts.Part.Checked = true
	f.facts.Part.Bad = bad > 0 && (bad == all || p.Left.Done.Head() < p.Left.Adopted)
	if bad > 0 && !f.facts.Part.Bad {
		f.note(damaged(p.Name(), bad, all))
	}
	return nil
}

// leaveTarget returns the result for a target that stays.
func (f *file) leaveTarget(why string) (Result, error) {
	if why == decide.LeftBefore {
		return resultOf(f.past, why), nil
	}
	r := f.has
	r.Left = why
	told := time.Time{}
	if f.local != nil {
		r.Size = f.local.Size()
		r.ModTime = f.local.ModTime()
		if !f.facts.Local.Time.Equal(r.ModTime) {
			told = f.facts.Local.Time
		}
	}
	compared := r.Verified != ""
	if !compared && f.record != nil {
		r.Sum = f.record.sum
		r.Verified = f.record.verified
		r.Checked = f.record.checked
	}
	if err := f.caller.stays(r, told, compared); err != nil {
		return Result{}, err
	}
	return r, f.to.FlushName()
}

// causes maps each cause of a refusal to its error.
var causes = map[decide.Cause]error{
	decide.Exists:    fs.ErrExist,
	decide.Other:     localfile.ErrOther,
	decide.NoStart:   ErrResume,
	decide.OtherSize: ftpexec.ErrChanged,
	decide.Mismatch:  ErrDigest,
	decide.Shorter:   localfile.ErrShorter,
}

// refuse returns the error for a target that may neither count as the file nor be replaced.
func (f *file) refuse(a decide.Answer) error {
	cause := causes[a.Cause]
	e := &localfile.Error{Path: f.to.Path, Reason: a.Why, Err: cause}
	e.Elsewhere = !errors.Is(cause, fs.ErrExist)
	if f.mismatch != nil {
		e.Reason += ": " + f.mismatch.Error()
	}
	return e
}

// retrieve fetches the missing bytes into the part and gives the part its final name.
func (f *file) retrieve(ctx context.Context, a decide.Answer) (Result, error) {
	if f.mismatch != nil {
		a.Note = f.to.Path + ": " + f.mismatch.Error() + ": " + a.Note
	}
	if a.Note != "" {
		f.note(a.Note)
	}
	err := f.start(ctx, a)
	if err == nil {
		_, err = f.expected(ctx)
	}
	if err == nil {
		f.t.segments = mostSegments(f.Segments)
		err = f.t.run(ctx)
	}
	if err != nil {
		return Result{}, err
	}
	f.caller.arrived()
	return f.finish(ctx, a.Replace)
}

// start prepares the part for the transfer.
func (f *file) start(ctx context.Context, a decide.Answer) (err error) {
	p := f.t.part
	switch a.Start {
	case decide.FromPart:
		f.retry.Reached.Store(true) // the bytes came from the server, so the address is right
		p.Resume()
	case decide.FromTarget:
		f.reading(p.Path, f.facts.Local.Size)
		err = p.Copy(ctx, f.local, f.facts.Server.Size, f.facts.Server.Time)
	default:
		if a.Why != "" {
			f.t.stale = p.Name() + ": " + a.Why
		}
	}
	if err == nil && a.Replace {
		err = p.CopyPermissions(f.to.Info)
	}
	return err
}

// finish verifies the complete part and gives it its final name.
func (f *file) finish(ctx context.Context, replace bool) (Result, error) {
	t := f.t
	s := t.part.Snapshot()
	size := s.Done.Octets()
	r := Result{Size: size, ModTime: cmp.Or(s.ModTime, f.listed.Time), Resumed: t.resumed}
	f.reading(t.part.Name(), size)
	err := f.checkSize("received", size) // a file of the wrong size need not be read
	if err == nil {
		err = t.part.Intact(ctx)
	}
	if err == nil && f.check != nil {
		err = t.verify(ctx, size, &r)
	}
	if err != nil {
		return Result{}, err
	}
	last := partfile.Finish{Overwrite: replace, ModTime: r.ModTime, Note: f.note}
	if f.caller.commits() {
		last.Commit = func(modTime time.Time) error {
			told := r.ModTime
			r.ModTime = modTime
			if told.Equal(modTime) {
				told = time.Time{}
			}
			return f.caller.commit(r, told)
		}
		last.Announce = f.caller.announcement()
		last.Remembered = f.caller.remembers()
	}
	err = t.part.Publish(last)
	if errors.Is(err, fs.ErrExist) && !f.facts.Updates() && !f.facts.Resumes() {
		// another run may have saved the same file
		if f.Existing == Skip {
			t.part.Discard()
		}
		return Result{}, partfile.ErrMoved
	}
	return r, err
}
