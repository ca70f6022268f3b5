package download

import (
	"context"

	"example.com/ftpfetch/download/internal/decide"
)

// These are the values of [Event.Plan] with [RunOptions.Check].
const (
	planMissing = "missing"
	planDiffers = "differs"
	planSame    = "same"
	planExtra   = "extra" // a file that the server lacks
)

// otherThanFile returns the event for a file in whose place there is something else here, and whether there is.
func (b *engine) otherThanFile(j *job) (e Event, other bool) {
	if b.root == nil || j.Writer != nil {
		return e, false
	}
	e = Event{Plan: planDiffers, Differs: []string{decide.InKind}}
	at := b.inTheWay(j.Path, false)
	info, err := b.root.Stat(j.Path)
	switch {
	case at == j.Path:
		e.Result.Left = "kind: a directory here, a file there"
	case at != "":
		e = Event{Plan: planMissing}
		e.Result.Left = "not here: " + at + " is a file"
	case err == nil && !info.Mode().IsRegular():
		e.Result.Left = "kind: no regular file here"
	default:
		return e, false
	}
	return e, true
}

// sizeThere returns the size of the server's file, or -1 if it is not known. It asks the server unless a listing has
// it.
func (f *file) sizeThere(ctx context.Context) (int64, error) {
	if f.listed.Size >= 0 {
		return f.listed.Size, nil
	}
	said, err := f.told(ctx)
	return said.Size, err
}

// checkFile compares the target with the server's file. It asks the server and reads the target as far as that needs
// it, but fetches and changes nothing.
func (f *file) checkFile(ctx context.Context) (e Event, err error) {
	f.look()
	for {
		f.lookUpRecord()
		c := decide.Compare(&f.facts)
		switch c.Ask {
		case decide.AskServer:
			f.facts.Server, err = f.told(ctx)
			f.facts.Asked = true
		case decide.AskDigest:
			err = f.checkDigest(ctx)
		default:
			return f.checked(c), nil
		}
		if err != nil {
			return e, err
		}
	}
}

// checkDigest compares the target's digest, if it has one: a list of digests in a tree has none.
func (f *file) checkDigest(ctx context.Context) error {
	err := f.compare(ctx)
	switch {
	case err != nil:
		return err
	case f.check == nil:
		f.facts.Digest = decide.NotCompared
		f.facts.Verify = false
	case f.mismatch != nil:
		f.facts.Mismatch = f.mismatch.Error()
	}
	return nil
}

// checked returns the event for a file that was compared.
func (f *file) checked(c decide.Comparison) Event {
	e := Event{Plan: planSame, Differs: c.Differs, Untold: c.Untold}
	e.Result = Result{Size: f.facts.Size(), Left: c.Why}
	switch {
	case c.Missing:
		e.Plan = planMissing
		e.Untold = nil
		f.peek()
		e.Result.Resumed = f.facts.Part.Bytes
	case c.Differs != nil:
		e.Plan = planDiffers
	}
	return e
}
