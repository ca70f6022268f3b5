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
	Size int64  // of the server's file, or of what is left alone; -1 if it is unknown
	Here int64  // how many bytes need no fetching
	Why  string // in words for people
}

// What Plan.Do says.
const (
	Fetched  = "fetch"
	Replaced = "replace"
	Left     = "leave"
)

// Would says what [File] would do. It asks the server and reads what is here as File does, and stops before anything is
// fetched or changed. A job without a Place has nothing here. The error is that of File.
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

// peek says what is in the part, as far as its journal tells.
func (f *file) peek() {
	f.facts.Part = decide.Part{Claimed: true}
	if f.to == nil {
		return
	}
	if s, err := f.to.Peek(); err == nil {
		f.left(s, nil)
	}
}

// size asks for the size of a file, which must be there unless the server refuses to tell; -1 means unknown.
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

// planned returns the plan of a file that would be fetched. It asks the server for the size if neither a listing nor an
// earlier answer has it: a size that the caller expects says nothing about what is there.
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
