package fetch

import (
	"context"
	"errors"

	"example.com/ftpfetch/download/internal/decide"
	"example.com/ftpfetch/ftpexec"
)

// Plan is what [File] would do with a file.
type Plan struct {
	Do   string // Fetched, Replaced or Left
	Size int64  // of the server's file, or of the target that is left alone; -1 if unknown
	Here int64  // bytes that need no fetching
	Why  string // the reason, for the user
}

// These are the values of Plan.Do.
const (
	Fetched  = "fetch"
	Replaced = "replace"
	Left     = "leave"
)

// Would returns what [File] would do. It asks the server and reads local files as File does, but fetches and changes
// nothing. Without a Place, the job has no target and no part. The error is the one that File would return.
func Would(ctx context.Context, from Job) (Plan, error) {
	f := &file{job: newJob(from), to: from.Place}
	f.look()
	for {
		f.record()
		a := decide.Next(&f.facts)
		var err error
		switch a.Do {
		case decide.Leave:
			return Plan{Do: Left, Size: f.facts.Local.Size, Here: f.facts.Local.Size, Why: a.Why}, nil
		case decide.Refuse:
			return Plan{}, f.refuse(a)
		case decide.Fetch:
			return f.planned(ctx, a)
		case decide.AskPart:
			f.peek()
		case decide.AskBlocks:
			f.facts.Part.Checked = true
		default:
			err = f.find(ctx, a.Do)
		}
		if err != nil {
			return Plan{}, err
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
		told, err = f.Source.Stat(ctx, f.URL)
		return err
	})
	if errors.Is(err, ftpexec.ErrRefused) {
		return -1, nil
	}
	return told.Size, err
}

// planned returns the plan for a file that would be fetched. It asks the server for the size if neither a listing nor
// an earlier answer has it. The size that the caller expects may not be the size of the server's file.
func (f *file) planned(ctx context.Context, a decide.Answer) (p Plan, err error) {
	p = Plan{Do: Fetched, Size: f.facts.Size(), Why: a.For}
	if f.facts.Listed.Size < 0 && !f.facts.Asked {
		size, err := f.size(ctx)
		if err != nil {
			return p, err
		}
		if size >= 0 {
			p.Size = size
		}
	}
	err = f.sized("the server's file has", p.Size)
	if a.Replace && f.facts.Here != decide.Nothing {
		p.Do = Replaced
	}
	switch a.Start {
	case decide.FromPart:
		p.Here = f.facts.Part.Bytes
	case decide.FromTarget:
		p.Here = f.facts.Local.Size
	}
	return p, err
}
