package download

import (
	"context"
	"fmt"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/internal/localfile"
)

// find claims the part of the target, and takes what it holds as the start if this run may.
func (j *job) find(ctx context.Context, to *partfile.Place, c choice) (*transfer, error) {
	p, err := to.Claim(ctx, j.url, j.o.Overwrite, j.o.Continue)
	if err != nil {
		return nil, err
	}
	t := &transfer{job: j, part: p, segments: max(1, j.o.Segments)}
	err = t.take(ctx, c.start)
	if err == nil && c.overwrite {
		err = p.Like(to.Info)
	}
	if err == nil && c.start != nil && t.stale != "" {
		err = unfinished(p.Name())
	}
	if err == nil && c.start != nil && len(p.Snapshot().Done) == 0 {
		j.o.reading(to.Path, c.start.Size())
		if err = p.Copy(ctx, c.start.FileInfo, c.start.whole.Size, c.start.whole.ModTime); err != nil {
			p.Discard()
		}
	}
	if err != nil {
		p.GiveUp()
		return nil, err
	}
	return t, nil
}

// take decides about what the part holds. from is the target that Continue takes as the start of the file, or nil.
func (t *transfer) take(ctx context.Context, from *start) error {
	p := t.part
	has, _ := p.Found()
	switch {
	case p.Theirs && t.o.Overwrite:
		return p.Renew()
	case p.Theirs && (!t.o.Continue || from != nil):
		return p.Naked()
	case p.Theirs && p.Linked:
		return because(ErrResume, "%s: cannot be resumed: it has other names (hard links), which would change too", p.Name())
	case p.Theirs:
		t.o.reading(p.Name(), has)
		return p.Adopt(ctx)
	case has == 0 && (from != nil || p.LeftErr == nil && len(p.Left.Done) == 0):
		return nil
	case from != nil && len(p.Left.Done) > 0 && (p.Left.URL != t.url || p.Left.Adopted != from.Size()):
		return unfinished(p.Name())
	case p.Linked:
		t.o.note(p.Name() + ": it has other names (hard links), which are left alone: starting over")
		return p.Renew()
	}
	why, err := t.useless(ctx, has)
	switch {
	case err != nil:
		return err
	case why != "":
		t.stale = p.Name() + ": " + why
		if has == 0 { // there is nothing to give up
			return nil
		}
		return t.mayForget(p.Left.Adopted, t.stale)
	case len(p.Left.Done) == 0:
		return p.Empty()
	}
	t.retry.Reached.Store(true) // the bytes came from the server, so the address is right
	return p.Resume()
}

// useless says why a run cannot resume from the part, or "". It removes damaged blocks from what is left.
func (t *transfer) useless(ctx context.Context, has int64) (why string, err error) {
	p := t.part
	s := &p.Left
	switch {
	case p.LeftErr != nil:
		return p.LeftErr.Error(), nil
	case len(s.Done) == 0:
		return "", nil
	case t.o.NoResume:
		return "not resumed, as requested", nil
	case s.Adopted > 0 && t.o.Overwrite:
		return "it starts with bytes that another program left", nil
	case s.URL != t.url:
		return "it belongs to another URL", nil
	case s.Done.End() > has:
		return fmt.Sprintf("it has %d bytes, but its journal claims %d", has, s.Done.End()), nil
	case t.text():
		return cannotResumeText, nil
	}
	t.o.reading(p.Name(), s.Done.Octets())
	bad, all, err := p.Check(ctx)
	switch {
	case err != nil || bad == 0:
		return "", err
	case bad == all:
		return "it does not match its journal", nil
	}
	t.o.note(fmt.Sprintf("%s: %d of %d blocks are damaged: fetching them again", p.Name(), bad, all))
	if s.Done.Head() < s.Adopted {
		return "", t.mayForget(s.Adopted, p.Name()+": the file that -c resumed has changed since")
	}
	return "", nil
}

// mayForget refuses to give up bytes that another program left, unless Overwrite or NoResume allow it.
func (t *transfer) mayForget(adopted int64, why string) error {
	if adopted == 0 || t.o.Overwrite || t.o.NoResume {
		return nil
	}
	return because(ErrResume, "%s: %s", t.part.Path, why)
}

func unfinished(path string) error {
	return &localfile.Error{Path: path, Reason: "is in the way: it holds an unfinished download", Err: localfile.ErrPart}
}
