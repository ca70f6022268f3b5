package download

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/glob"
)

// survey records what the listings of a tree show. If no file of the tree is fetched, the tree fails unless it has no
// files.
type survey struct {
	mu       sync.Mutex
	wanted   int64 // files to fetch, except links that lead to no file
	lost     bool  // something failed and was reported
	named    bool  // an entry matches Tree.Names
	shown    bool  // there is an entry
	rejected bool  // an entry matches Tree.Reject
	unwanted int64 // files that neither Tree.Reject nor another pattern matches
	links    int64 // links and special files
	deeper   int64 // directories deeper than Tree.Depth

	contest *contest // nil if all files are wanted
}

// withSurvey calls change while no other job of the tree reads or changes its survey.
func (j *job) withSurvey(change func(h *survey)) {
	h := j.dir.survey
	h.mu.Lock()
	defer h.mu.Unlock()
	change(h)
}

// noteUnwanted records why an entry is not wanted.
func (j *job) noteUnwanted(e ftpexec.Entry) {
	below := path.Join(j.dir.below, e.Name)
	pattern, last := glob.Level(j.Tree.Names, j.dir.depth)
	j.withSurvey(func(h *survey) {
		switch {
		case h.wanted > 0:
		case glob.Match(j.Tree.Reject, below, e.Mode == fs.ModeDir):
			h.rejected = true
		case e.Mode != 0, pattern != "" && !last:
		case pattern != "" && h.named && !glob.Match([]string{pattern}, below, false):
		default:
			h.unwanted++
		}
	})
}

func (t *Tree) patterns() []string {
	if len(t.Accept) == 0 && t.Names != "" {
		return []string{t.Names}
	}
	return t.Accept
}

// nothingFetched is the error of a tree that is not empty but of which no file is fetched.
type nothingFetched string

func (e nothingFetched) Error() string        { return string(e) }
func (e nothingFetched) Is(target error) bool { return target == ftpexec.ErrNotFound }

// wanting returns an error that says why no file of the tree t is fetched. It returns nil if files are fetched, if the
// tree has none, or if another error was reported.
func (b *engine) wanting(h *survey, t *Tree) error {
	flat := h.deeper > 0 && t.flat()
	text := h.why(t)
	switch {
	case text == "" || h.wanted > 0 || h.lost:
		return nil
	case flat && h.unwanted == 0 && h.named:
		return nothingFetched("only directories match " + t.Names + " (a greater Tree.Depth fetches what is in them)")
	}
	if h.unwanted > 0 && h.rejected {
		text += " besides what Tree.Reject leaves out"
	}
	text += b.advice(t)
	if h.deeper > 0 && !flat {
		text += fmt.Sprintf("; %s (Tree.Depth %d reads more)", h.unread(t), t.Depth+1)
	}
	return nothingFetched(text)
}

// advice returns what to write instead of patterns of t that match nothing, and which directory their paths are
// relative to.
func (b *engine) advice(t *Tree) string {
	from := ""
	advice := ""
	for _, p := range t.patterns() {
		advice = cmp.Or(advice, b.unmatched[p].Advice())
		if t.Accept != nil && b.unmatched[p] != nil {
			from = cmp.Or(from, glob.From(p))
		}
	}
	return from + advice
}

// why returns the reason why no file of the tree t is fetched, or "" if t has no files.
func (h *survey) why(t *Tree) string {
	switch {
	case t.Names != "" && !h.named:
		return "nothing matches " + t.Names
	case h.unwanted > 0:
		return "nothing matches " + strings.Join(t.patterns(), " or ")
	case h.rejected:
		return "Tree.Reject leaves nothing to fetch"
	case h.deeper > 0:
		return "no file"
	case h.links > 0 && t.FollowLinks:
		return "only links, which lead to no file in it"
	case h.links > 0:
		return "only links (Tree.FollowLinks fetches what they lead to inside it)"
	}
	return ""
}

// flat reports whether Depth excludes the directories that match Names.
func (t *Tree) flat() bool { return t.Names != "" && t.Depth == 1+strings.Count(t.Names, "/") }

func (h *survey) unread(t *Tree) string {
	if t.flat() {
		return fmt.Sprintf(
			"directories that match are not fetched: %d (a greater Tree.Depth fetches what is in them)", h.deeper)
	}
	return fmt.Sprintf("directories below level %d are not read: %d", t.Depth, h.deeper)
}

// surveys reports what the user may not expect of each tree: that no file is fetched, and which directories Depth
// excludes.
func (b *engine) surveys(ctx context.Context) {
	reported := ctx.Err() != nil
	for _, j := range b.trees {
		h := j.dir.survey
		err := b.wanting(h, j.Tree)
		reported = reported || h.lost || err != nil
		switch {
		case ctx.Err() != nil, h.wanted == 0 && b.LeftOut != nil && b.LeftOut() > 0:
		case err != nil:
			b.reject(j, false, err)
		default:
			if what := h.surprise(j.Tree); what != "" {
				b.notice(j.url().Redacted() + ": " + what)
			}
		}
	}
	if !reported {
		b.tellIdle()
	}
}

// surprise returns what the user may not expect of the tree t although nothing failed, or "".
func (h *survey) surprise(t *Tree) string {
	switch {
	case h.deeper > 0:
		return h.unread(t)
	case h.wanted > 0 || h.lost:
		return ""
	case t.Names != "":
		return "no file in what matches " + t.Names
	case h.shown:
		return "no file in it"
	}
	return "empty"
}
