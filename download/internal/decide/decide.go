// Package decide says what happens to a file: whether what is at its path stays, whether it is refused, or from where the
// file is fetched. It is one pure function, [Next]. It touches no disk and asks no server: if it needs to know more, its
// answer is what to find out. docs/download.md has the table that it makes.
package decide

import (
	"fmt"
	"time"

	"example.com/ftpfetch/internal/local/localfile"
)

// rules are asked in this order. The first that knows what to do decides.
var rules = []func(*Facts) Answer{
	(*Facts).nothingThere,
	(*Facts).unexpectedSize,
	(*Facts).recorded,
	(*Facts).digest,
	(*Facts).skip,
	(*Facts).inPieces,
	(*Facts).newer,
	(*Facts).resume,
}

// Next says what to do with the file that f is about. It ends: each Ask is for a fact that f lacks.
func Next(f *Facts) Answer {
	for _, rule := range rules {
		if a := rule(f); a.Do != Undecided {
			return a
		}
	}
	return f.compare()
}

var undecided = Answer{}

// nothingThere fetches the file if there is none, or if what is there does not matter.
func (f *Facts) nothingThere() Answer {
	switch {
	case f.Here == Nothing:
		return f.fetch(f.Existing == Overwrite, false, "not here")
	case f.Existing == Overwrite:
		return f.fetch(true, false, "overwriting was asked for")
	}
	return undecided
}

// unexpectedSize refuses a file that is not as long as the caller expects, unless a flag lets it be updated.
func (f *Facts) unexpectedSize() Answer {
	if !f.differs(f.Want) || f.Updates() || f.Resumes() {
		return undecided
	}
	if f.Existing == Skip {
		return f.otherSize(OtherSize)
	}
	return f.otherSize(Other)
}

func (f *Facts) otherSize(cause Cause) Answer {
	why := fmt.Sprintf("exists with %d bytes, not the expected %d", f.Local.Size, f.Want)
	return refuse(cause, why)
}

// recorded leaves a file that an earlier run has fetched, if nothing that is known speaks against it.
func (f *Facts) recorded() Answer {
	known := f.known()
	switch {
	case f.Record == NoRecord, f.Record == Fetched && f.Verify, f.Here != Regular, f.Pieces != "":
		return undecided
	case f.differs(known.Size), f.differs(f.Want), f.newerThanLocal(known):
		return undecided
	case f.Updates() && !f.Given && !known.complete(): // only the server knows which is newer
		return undecided
	}
	return Answer{Do: Leave, Why: LeftThere}
}

// digest decides by the digest that the caller has given, and by any that is wrong.
func (f *Facts) digest() Answer {
	switch {
	case f.Digest == Wrong:
		return f.wrongDigest()
	case !f.Given:
		return undecided
	case f.Digest == Right:
		return f.leave(LeftThere)
	case f.differs(f.known().Size) && f.Existing != Skip: // so the digest differs too
		return undecided
	case f.Resumes() && f.known().Size < 0 && !f.Asked: // it may be the start of the file
		return Answer{Do: AskServer}
	}
	return Answer{Do: AskDigest}
}

// wrongDigest decides about what is there with another digest.
func (f *Facts) wrongDigest() Answer {
	switch {
	case f.Updates():
		a := f.fetch(true, false, "has another digest")
		a.Note = "fetching it again"
		return a
	case f.Resumes() && f.Local.Size < f.known().Size:
		return undecided // it may be the start of the file
	case f.Given && f.Existing != Skip && !f.Resumes():
		return refuse(Other, "exists with another digest")
	}
	return refuse(Mismatch, "exists with another digest")
}

// skip leaves whatever is there.
func (f *Facts) skip() Answer {
	if f.Existing != Skip {
		return undecided
	}
	return f.leave(LeftExists)
}

// inPieces refuses a file that another program has not finished, although it has its full size from the start.
func (f *Facts) inPieces() Answer {
	if f.Pieces == "" {
		return undecided
	}
	why := "lacks pieces, as " + f.Pieces + " shows"
	if f.Updates() || f.Resumes() {
		return refuse(NoStart, why)
	}
	return refuse(Other, why)
}

// newer decides by the server's time and size. With Continue a shorter file that is not older may be the start.
func (f *Facts) newer() Answer {
	known := f.known()
	switch {
	case !f.Updates():
		return undecided
	case f.Here == Dangling:
		return refuse(Exists, "leads to nothing")
	case f.differs(known.Size) && !f.Resumes():
		return f.fetch(true, false, f.sizes(known))
	case !f.Asked && !known.complete():
		return Answer{Do: AskServer}
	case known.Time.IsZero():
		a := f.fetch(true, false, "the server tells no time")
		a.Note = "the server does not report the file's time: retrieving it"
		return a
	case f.newerThanLocal(known):
		return f.fetch(true, false, "newer on the server")
	case !f.differs(known.Size):
		return f.leave(LeftOlder)
	case known.Size < f.Local.Size, f.Asked && f.Server.Size < 0:
		// The server must say where to resume.
		return f.fetch(true, false, f.sizes(known))
	}
	return undecided
}

// resume takes what is there for the start of the server's file, if Continue is set and nothing speaks against it.
func (f *Facts) resume() Answer {
	why := ""
	switch {
	case !f.Resumes():
		return undecided
	case f.Text || f.Here != Regular:
		why = "only a regular file can be resumed, and not as text (;type=a)"
	case !f.Ours:
		why = "cannot be resumed: it belongs to another user"
	case !f.Asked:
		return Answer{Do: AskServer}
	case f.Server.Size < 0:
		why = "cannot be resumed: the server does not report the file's size"
	case f.Local.Size > f.Server.Size:
		why = fmt.Sprintf("has %d bytes, but the server's file has only %d",
			f.Local.Size, f.Server.Size)
	case f.newerThanLocal(f.known()):
		why = "is older than the server's file, which has changed since"
	case f.Local.Size == f.Server.Size:
		return f.leave(LeftThere)
	default:
		return f.fetch(true, true, "the rest is missing")
	}
	return refuse(NoStart, why)
}

// compare decides without a flag: what is there stays, and it is good if it has the size and time of the server's file.
func (f *Facts) compare() Answer {
	known := f.known()
	if f.Here != Regular || f.Text {
		return refuse(Exists, LeftExists)
	}
	if !f.Asked && (known.Size < 0 || known.Time.IsZero() && known.Size == f.Local.Size) {
		return Answer{Do: AskServer}
	}
	switch {
	case known.Size < 0:
		return refuse(Exists, LeftExists)
	case known.Size != f.Local.Size:
		return refuse(Exists, "differs from the server's: "+f.sizes(known))
	case known.Time.IsZero():
		return refuse(Exists, "has the size of the server's file, whose time is not known")
	case f.newerThanLocal(known):
		return refuse(Exists, "is older than the server's, and of the same size")
	case f.Local.Time.Sub(known.Time) > localfile.Slack:
		return refuse(Other, "is newer than the server's, and of the same size")
	}
	return f.leave(LeftThere)
}

// leave leaves what is there, once a digest has been compared if one must be.
func (f *Facts) leave(why string) Answer {
	if f.differs(f.Want) {
		return f.otherSize(OtherSize)
	}
	if (f.Verify || f.Given) && f.Digest != Right {
		return Answer{Do: AskDigest}
	}
	return Answer{Do: Leave, Why: why}
}

func refuse(cause Cause, why string) Answer { return Answer{Do: Refuse, Cause: cause, Why: why} }

// sizes says how long the file is that has another size here.
func (f *Facts) sizes(known Stamp) string {
	return fmt.Sprintf("%d bytes there, %d here", known.Size, f.Local.Size)
}

// fetch fetches the file: from the part, or from what is there if start says that it may be the start, or from nothing.
// cause says why, in words for people.
func (f *Facts) fetch(replace, start bool, cause string) Answer {
	if !f.Part.Claimed {
		return Answer{Do: AskPart}
	}
	a := Answer{Do: Fetch, Replace: replace, Why: f.useless(start), For: cause}
	switch {
	case a.Why == "" && f.Part.Bytes > 0 && !f.Part.Checked:
		return Answer{Do: AskBlocks}
	case a.Why == "" && f.Part.Bytes > 0:
		a.Start = FromPart
	case start:
		a.Start = FromTarget
		a.Why = ""
	}
	return a
}

// useless says why the fetch cannot go on from the part, or returns "". start says that the target may be the start.
func (f *Facts) useless(start bool) string {
	p := f.Part
	foreign := p.Adopted > 0 && !f.Resumes() || start && p.Adopted > 0 && p.Adopted != f.Local.Size
	switch {
	case p.Broken != "":
		return p.Broken
	case p.Bytes == 0:
		return ""
	case f.NoResume:
		return "what an earlier run left is not used"
	case foreign:
		return "it starts with bytes that another program left"
	case p.Other:
		return "it belongs to another URL"
	case f.Text:
		return CannotResumeText
	case p.Checked && p.Bad:
		return "it does not match its journal"
	}
	return ""
}

// CannotResumeText is why a text starts over.
const CannotResumeText = "a file in ASCII type (;type=a) cannot be resumed"

// known is what the server says about the file, or else the listing of its directory.
func (f *Facts) known() Stamp {
	known := f.Listed
	if f.Asked {
		if f.Server.Size >= 0 {
			known.Size = f.Server.Size
		}
		if !f.Server.Time.IsZero() {
			known.Time = f.Server.Time
		}
	}
	return known
}

// Newest is the time of the server's file as far as it is known.
func (f *Facts) Newest() time.Time { return f.known().Time }

// Size is the size of the server's file as far as it is known, or else the one that the caller expects; -1 if neither is.
func (f *Facts) Size() int64 {
	if size := f.known().Size; size >= 0 {
		return size
	}
	return f.Want
}

// differs reports whether a size is known and is not the size of what is there.
func (f *Facts) differs(size int64) bool { return size >= 0 && size != f.Local.Size && !f.Text }

// newerThanLocal reports whether s is newer than what is there. An unknown time is not.
func (f *Facts) newerThanLocal(s Stamp) bool {
	return s.Time.After(f.Local.Time.Add(localfile.Slack))
}
