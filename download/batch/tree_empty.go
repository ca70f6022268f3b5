package batch

import (
	"context"
	"fmt"
	"path"
	"strings"
	"sync"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/glob"
)

// haul is what the listings of a tree have shown, for the case that no file of it is fetched. That is a failure, unless
// the server has none.
type haul struct {
	mu       sync.Mutex
	wanted   int64 // files that are fetched, without those that links name in vain
	lost     bool  // something failed, which is told
	named    bool  // something matches Tree.Names
	shown    bool  // there is something
	rejected bool  // something matches Tree.Reject
	unwanted int64 // files that Tree.Reject leaves, but no pattern chooses
	links    int64 // and special files
	deeper   int64 // directories below Tree.Depth
	guesses  glob.Guesses
}

// note changes what the listings of a tree have shown.
func (j *job) note(change func(h *haul)) {
	h := j.dir.haul
	h.mu.Lock()
	defer h.mu.Unlock()
	change(h)
}

// leave counts an entry that is not wanted, and tries what its patterns may have been meant to be.
func (j *job) leave(e entry) {
	below := path.Join(j.dir.below, e.name)
	pattern, last := j.Tree.level(j.dir.depth)
	j.note(func(h *haul) {
		switch {
		case h.wanted > 0:
			return
		case glob.Match(j.Tree.Reject, below):
			h.rejected = true
			return
		case e.mode != 0, pattern != "" && !last, pattern != "" && h.named && !glob.Match([]string{pattern}, below):
			return
		case h.guesses == nil:
			h.guesses = glob.Guess(j.Tree.patterns())
		}
		h.unwanted++
		h.guesses.Add(below)
	})
}

// patterns returns those that choose files.
func (t *Tree) patterns() []string {
	if len(t.Accept) == 0 && t.Names != "" {
		return []string{t.Names}
	}
	return t.Accept
}

// barren is the error of a tree of which no file is fetched although there is something in it.
type barren string

func (e barren) Error() string        { return string(e) }
func (e barren) Is(target error) bool { return target == ftpexec.ErrNotFound }

// wanting says why no file of the tree t is fetched, or returns nil if the server has none.
func (h *haul) wanting(t *Tree) error {
	text := "nothing matches " + strings.Join(t.patterns(), " or ")
	switch {
	case h.wanted > 0 || h.lost:
		return nil
	case t.Names != "" && !h.named:
		text = "nothing matches " + t.Names
	case h.unwanted > 0:
	case t.flat() && h.deeper > 0:
		return barren("only directories match " + t.Names + " (-r fetches what is in them)")
	case h.rejected:
		text = "--reject leaves no file of it"
	case h.deeper > 0:
		text = "no file"
	case h.links > 0 && t.FollowLinks:
		text = "only links, which lead to no file in it"
	case h.links > 0:
		text = "only links (--follow-links fetches what they lead to inside it)"
	default:
		return nil
	}
	text += h.guesses.Advice()
	if h.deeper > 0 && !t.flat() {
		text += fmt.Sprintf("; %s (--depth %d reads more)", h.unread(t), t.Depth+1)
	}
	return barren(text)
}

// flat reports whether no directory that matches Names is read.
func (t *Tree) flat() bool { return t.Names != "" && t.Depth == 1+strings.Count(t.Names, "/") }

// unread says what Depth keeps from being read.
func (h *haul) unread(t *Tree) string {
	switch {
	case t.flat() && h.deeper == 1:
		return "1 directory that matches is not fetched (-r fetches what is in it)"
	case t.flat():
		return fmt.Sprintf("%d directories that match are not fetched (-r fetches what is in them)", h.deeper)
	case h.deeper == 1:
		return fmt.Sprintf("1 directory below level %d is not read", t.Depth)
	}
	return fmt.Sprintf("%d directories below level %d are not read", h.deeper, t.Depth)
}

// hauls tells of each tree what its user may not expect: that no file of it is fetched, and what Depth leaves unread.
func (b *engine) hauls(ctx context.Context) {
	for _, j := range b.trees {
		h := j.dir.haul
		switch err := h.wanting(j.Tree); {
		case ctx.Err() != nil:
		case err != nil:
			b.count(func(c *counts) { c.file(0, 1) })
			b.ended(Event{Event: download.Event{Err: err}, Task: j.Task})
		case h.deeper > 0:
			b.note(pause, j.url().Redacted()+": "+h.unread(j.Tree))
		case h.wanted == 0 && !h.lost && j.Tree.Names != "":
			b.note(pause, j.url().Redacted()+": no file in what matches "+j.Tree.Names)
		case h.wanted == 0 && !h.lost:
			b.note(pause, j.url().Redacted()+": "+map[bool]string{true: "no file in it", false: "empty"}[h.shown])
		}
	}
}
