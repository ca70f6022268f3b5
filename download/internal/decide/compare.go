package decide

import (
	"fmt"
	"strings"
	"time"

	"example.com/ftpfetch/internal/local/localfile"
)

// Comparison is how the target and the server's file differ, if nothing is to be fetched.
type Comparison struct {
	Ask     Do       // AskServer or AskDigest: find that out, and compare again; Undecided if the rest counts
	Missing bool     // there is no target
	Differs []string // in what the two differ; empty if they do not
	Why     string   // how they differ, for the user
	Untold  []string // what was not compared, because the server does not tell it, or because the type is ASCII
}

// These are the words of Differs. Untold has only the first two.
const (
	InSize   = "size"
	InTime   = "time"
	InDigest = "digest"
	InPieces = "pieces"
	InKind   = "kind"
)

// add adds a difference.
func (c *Comparison) add(in, how string) {
	c.Differs = append(c.Differs, in)
	c.Why = strings.TrimPrefix(c.Why+"; "+in+": "+how, "; ")
}

// Compare compares the target with the server's file, as Newer does, and with the digest if one was asked for. Unlike
// Newer, it also takes a target that is newer than the server's file for another one, unless its digest is right.
func Compare(f *Facts) (c Comparison) {
	known := f.known()
	switch {
	case !f.Asked && f.lacks():
		return Comparison{Ask: AskServer}
	case f.Here == Dangling:
		c.add(InKind, "a link here, which leads to nothing")
		return c
	case f.Here == Nothing:
		return Comparison{Missing: true, Why: "not here"}
	}
	if f.Pieces != "" {
		c.add(InPieces, "some are missing, as "+f.Pieces+" shows")
	}
	f.compareSize(&c, known)
	switch {
	case c.Differs != nil: // another size has another digest
	case (f.Given || f.Verify) && f.Digest == NotCompared:
		return Comparison{Ask: AskDigest}
	case f.Digest == Wrong:
		c.add(InDigest, f.Mismatch)
	}
	f.compareTime(&c, known)
	return c
}

// lacks reports whether the listing does not say enough to compare the target.
func (f *Facts) lacks() bool {
	file := f.Here == Regular || f.Here == Link
	return f.Listed.Size < 0 || file && f.Listed.Time.IsZero() && !f.differs(f.Listed.Size)
}

func (f *Facts) compareSize(c *Comparison, known Stamp) {
	switch {
	case f.differs(known.Size):
		c.add(InSize, fmt.Sprintf("%d there, %d here", known.Size, f.Local.Size))
	case f.differs(f.Want):
		c.add(InSize, fmt.Sprintf("%d in the list, %d here", f.Want, f.Local.Size))
	case (known.Size < 0 || f.Text) && f.Digest != Right:
		c.Untold = append(c.Untold, InSize)
	}
}

func (f *Facts) compareTime(c *Comparison, known Stamp) {
	newerHere := f.Local.Time.Sub(known.Time) > localfile.Slack
	switch right := f.Digest == Right; {
	case known.Time.IsZero():
		if f.Asked && !right {
			c.Untold = append(c.Untold, InTime)
		}
	case f.newerThanLocal(known) && !(right && f.Given), newerHere && !right:
		c.add(InTime, when(known.Time)+" there, "+when(f.Local.Time)+" here")
	}
}

func when(t time.Time) string { return t.UTC().Format(time.RFC3339) }
