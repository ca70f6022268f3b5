package download

import (
	"context"
	"errors"

	"example.com/ftpfetch/download/internal/decide"
	"example.com/ftpfetch/ftpexec"
)

// These are the values of [Event.Plan].
const (
	planFetch   = "fetch"
	planReplace = "replace"
	planLeave   = "leave"
)

// plan returns what [save] would do with a file, and the Result for [Event.Plan]. It asks the server and reads local
// files as save does, but fetches and changes nothing. The error is the one that save would return.
func (f *file) plan(ctx context.Context) (plan string, r Result, err error) {
	f.look()
	for {
		f.lookUpRecord()
		a := decide.Next(&f.facts)
		switch a.Do {
		case decide.Leave:
			size := f.facts.Local.Size
			if a.Why == decide.LeftBefore {
				size = f.past.Size
			}
			return planLeave, Result{Size: size, Resumed: size, Left: a.Why}, nil
		case decide.Refuse:
			return "", Result{}, f.refuse(a)
		case decide.Fetch:
			return f.planTransfer(ctx, a)
		case decide.AskPart:
			f.peek()
		case decide.AskBlocks:
			f.facts.Part.Checked = true
		default:
			err = f.find(ctx, a.Do)
		}
		if err != nil {
			return "", Result{}, err
		}
	}
}

// peek fills in the facts about the part from its journal.
func (f *file) peek() {
	f.facts.Part = decide.Part{Claimed: true}
	if f.to == nil {
		return
	}
	if s, err := f.to.Peek(); err == nil {
		f.left(s, nil)
	}
}

// size asks the server for the size of the file. It returns -1 if the server refuses to report it, and an error if the
// file does not exist.
func (f *file) size(ctx context.Context) (int64, error) {
	if err := f.begin(); err != nil {
		return -1, err
	}
	told := ftpexec.Entry{Size: -1}
	err := f.retry.Do(ctx, func() (err error) {
		told, err = f.src.Stat(ctx, f.url)
		return err
	})
	if errors.Is(err, ftpexec.ErrRefused) {
		return -1, nil
	}
	return told.Size, err
}

// planTransfer returns the plan for a file that would be fetched. It asks the server for the size if neither a listing nor
// an earlier answer has it. The size that the caller expects may not be the size of the server's file.
func (f *file) planTransfer(ctx context.Context, a decide.Answer) (plan string, r Result, err error) {
	plan = planFetch
	r = Result{Size: f.facts.Size(), Left: a.For}
	if f.facts.Listed.Size < 0 && !f.facts.Asked {
		size, err := f.size(ctx)
		if err != nil {
			return plan, r, err
		}
		if size >= 0 {
			r.Size = size
		}
	}
	err = f.checkSize("the server's file has", r.Size)
	if a.Replace && f.facts.Here != decide.Nothing {
		plan = planReplace
	}
	switch a.Start {
	case decide.FromPart:
		r.Resumed = f.facts.Part.Bytes
	case decide.FromTarget:
		r.Resumed = f.facts.Local.Size
	}
	return plan, r, err
}
