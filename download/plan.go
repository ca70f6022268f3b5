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

// plan returns the event that says what [save] would do with a file. It asks the server and reads local files as save
// does, but fetches and changes nothing. The error is the one that save would return.
func (f *file) plan(ctx context.Context) (e Event, err error) {
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
			return Event{Plan: planLeave, Result: Result{Size: size, Resumed: size, Left: a.Why}}, nil
		case decide.Refuse:
			return e, f.refuse(a)
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
			return e, err
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

// told is stat for a file that will not be fetched. It returns unknown values if the server refuses to report them, and
// an error if the file does not exist.
func (f *file) told(ctx context.Context) (decide.Stamp, error) {
	said, err := f.stat(ctx)
	if errors.Is(err, ftpexec.ErrRefused) {
		return decide.Unknown, nil
	}
	return said, err
}

// planTransfer returns the plan for a file that would be fetched. It asks the server for the size if neither a listing
// nor an earlier answer has it. The size that the caller expects may not be the size of the server's file.
func (f *file) planTransfer(ctx context.Context, a decide.Answer) (e Event, err error) {
	e.Plan = planFetch
	e.Result = Result{Size: f.facts.Size(), Left: a.For}
	if f.facts.Listed.Size < 0 && !f.facts.Asked {
		said, err := f.told(ctx)
		if err != nil {
			return e, err
		}
		if said.Size >= 0 {
			e.Result.Size = said.Size
		}
	}
	err = f.checkSize("the server's file has", e.Result.Size)
	if a.Replace && f.facts.Here != decide.Nothing {
		e.Plan = planReplace
	}
	switch a.Start {
	case decide.FromPart:
		e.Result.Resumed = f.facts.Part.Bytes
	case decide.FromTarget:
		e.Result.Resumed = f.facts.Local.Size
	}
	return e, err
}
