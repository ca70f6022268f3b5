// Package decide decides what happens to a file: whether the target stays, whether the download is refused, or where
// the fetch starts. It is one pure function, [Next]. Next touches no disk and asks no server: if a fact is missing, its
// answer is to find out that fact. docs/download.md has a table of the decisions.
package decide

import (
	"fmt"
	"slices"
	"time"

	"example.com/ftpfetch/internal/local/localfile"
)

// Existing says what may happen to a target that exists.
type Existing string

// Package download documents each value. The zero value replaces nothing.
const (
	Skip            Existing = "skip"
	Overwrite       Existing = "overwrite"
	Newer           Existing = "newer"
	Continue        Existing = "continue"
	NewerOrContinue Existing = "newer or continue"
)

// Existings are all values of Existing.
var Existings = []Existing{"", Skip, Overwrite, Newer, Continue, NewerOrContinue}

// Updates reports whether the server's time and size decide whether the file is replaced.
func (e Existing) Updates() bool { return e == Newer || e == NewerOrContinue }

// Resumes reports whether the target may be used as the start of the server's file.
func (e Existing) Resumes() bool { return e == Continue || e == NewerOrContinue }

// These are the reasons to leave a target alone.
const (
	LeftExists = "already exists"
	LeftOlder  = "not newer on the server"
	LeftThere  = "already there"
	LeftBefore = "fetched before"
)

// rules are tried in this order. The first one that returns an answer decides.
var rules = []func(*Facts) Answer{
	(*Facts).before,
	(*Facts).nothingThere,
	(*Facts).unexpectedSize,
	(*Facts).recorded,
	(*Facts).digest,
	(*Facts).skip,
	(*Facts).inPieces,
	(*Facts).times,
	(*Facts).newer,
	(*Facts).resume,
}

// Next decides what to do with the file that f describes. A loop that calls it ends, because each Ask is for a fact
// that f lacks.
func Next(f *Facts) Answer {
	for _, rule := range rules {
		if a := rule(f); a.Do != Undecided {
			return a
		}
	}
	return f.compare()
}

var undecided = Answer{}

// before leaves a file that an earlier run fetched, whatever has become of it, unless the server has another one now.
// As for Newer, only the server knows that. What it does not tell counts as unchanged.
func (f *Facts) before() Answer {
	was := f.Before
	if was == nil {
		return undecided
	}
	known := f.known()
	otherSize := known.Size >= 0 && known.Size != was.Size && !f.Text
	otherTime := !known.Time.IsZero() && !localfile.SameTime(known.Time, was.Time)
	switch {
	case f.Given: // the caller knows its bytes
	case otherSize || otherTime:
		return undecided
	case !f.Asked && !known.complete():
		return Answer{Do: AskServer}
	}
	if f.Record != NoRecord {
		return Answer{Do: Leave, Why: LeftThere}
	}
	return Answer{Do: Leave, Why: LeftBefore}
}

// nothingThere fetches the file if there is no target, or if Overwrite replaces any target.
func (f *Facts) nothingThere() Answer {
	switch {
	case f.Here == Nothing:
		return f.fetch(f.Existing == Overwrite, false, "not here")
	case f.Existing == Overwrite:
		return f.fetch(true, false, "overwriting was asked for")
	}
	return undecided
}

// unexpectedSize refuses a target whose size is not the one that the caller expects, unless a flag allows to update or
// resume it.
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

// recorded leaves a target that an earlier run fetched, unless a known fact contradicts the record.
func (f *Facts) recorded() Answer {
	known := f.known()
	switch {
	case f.Record == NoRecord, f.Record == Fetched && f.Verify, f.Here != Regular, f.Pieces != "":
		return undecided
	case f.differs(known.Size), f.differs(f.Want), f.newerThanLocal(known):
		return undecided
	case f.Updates() && !f.Given && !known.complete(): // only the server knows which file is newer
		return undecided
	}
	return Answer{Do: Leave, Why: LeftThere}
}

// digest decides if the caller gave a digest, or if any digest was compared and is wrong.
func (f *Facts) digest() Answer {
	switch {
	case f.Digest == Wrong:
		return f.wrongDigest()
	case !f.Given:
		return undecided
	case f.Digest == Right:
		return f.leave(LeftThere)
	case f.differs(f.known().Size) && f.Existing != Skip: // another size has another digest
		return undecided
	case f.Resumes() && f.known().Size < 0 && !f.Asked: // it may be the start of the file
		return Answer{Do: AskServer}
	}
	return Answer{Do: AskDigest}
}

// wrongDigest decides about a target whose digest is wrong.
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

// skip leaves any target if Skip is set.
func (f *Facts) skip() Answer {
	if f.Existing != Skip {
		return undecided
	}
	return f.leave(LeftExists)
}

// inPieces refuses a target that another program has not finished. Such a program may give a file its full size first,
// so the size does not show that bytes are missing.
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

// times finds out whether the target has another time than the server's file only because of the disk, which may not be
// able to keep that time.
func (f *Facts) times() Answer {
	known := f.known()
	switch {
	case f.Here != Regular, f.Text, known.Size != f.Local.Size, known.Time.IsZero(), known.Time.Equal(f.Tried):
		return undecided
	case f.newerThanLocal(known), !f.Updates() && !f.Resumes() && f.Local.Time.Sub(known.Time) > localfile.Slack:
		return Answer{Do: AskDisk}
	}
	return undecided
}

// newer decides by the server's time and size. With NewerOrContinue it leaves a shorter target that is no older to
// resume.
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

// resume uses the target as the start of the server's file if a flag says so, and refuses if the target cannot be the
// start.
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

// compare decides if no flag is set. The target stays, and that is a success if it has the size and time of the
// server's file.
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
	case f.maybeStart(known):
		return refuse(Shorter, "differs from the server's: "+f.sizes(known))
	case known.Size != f.Local.Size:
		return refuse(Exists, "differs from the server's: "+f.sizes(known))
	case f.Verify: // the digest shows more than the time
		return f.leave(LeftThere)
	case known.Time.IsZero():
		return refuse(Exists, "has the size of the server's file, whose time is not known")
	case f.newerThanLocal(known):
		return refuse(Exists, "is older than the server's, and of the same size")
	case f.Local.Time.Sub(known.Time) > localfile.Slack:
		return refuse(Other, "is newer than the server's, and of the same size")
	}
	return f.leave(LeftThere)
}

// maybeStart reports whether Continue would take the target as the start of the server's file.
func (f *Facts) maybeStart(known Stamp) bool {
	shorter := 0 < f.Local.Size && f.Local.Size < known.Size
	return shorter && f.Ours && (f.Asked || !known.Time.IsZero()) && !f.newerThanLocal(known)
}

// leave leaves the target, after its digest has been compared if that is required.
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

// sizes says how the sizes of the server's file and of the target differ.
func (f *Facts) sizes(known Stamp) string {
	return fmt.Sprintf("%d bytes there, %d here", known.Size, f.Local.Size)
}

// fetch fetches the file. It continues from the part, or else from the target if start says that the target may be the
// start of the file, or else starts at byte 0. cause is the reason, for the user.
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

// useless returns why the fetch cannot continue from the part, or "" if it can. start says that the target may be the
// start.
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

// CannotResumeText is why a transfer in ASCII type starts over.
const CannotResumeText = "a file in ASCII type (;type=a) cannot be resumed"

// known returns what the server said about the file. What the server did not say comes from the listing of its
// directory.
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

// Newest returns the time of the server's file, or zero if it is not known.
func (f *Facts) Newest() time.Time { return f.known().Time }

// Size returns the size of the server's file, or else the size that the caller expects, or -1 if neither is known.
func (f *Facts) Size() int64 {
	if size := f.known().Size; size >= 0 {
		return size
	}
	return f.Want
}

// differs reports whether size is known and is not the target's size.
func (f *Facts) differs(size int64) bool { return size >= 0 && size != f.Local.Size && !f.Text }

// newerThanLocal reports whether s is newer than the target. An unknown time is not newer.
func (f *Facts) newerThanLocal(s Stamp) bool {
	return s.Time.After(f.Local.Time.Add(localfile.Slack)) && !f.Local.latest()
}

// latestTimes are the last seconds since 1970 that file systems keep: in 32 bits with and without a sign, and those of
// ext4 and XFS.
var latestTimes = []int64{1<<31 - 1, 1<<32 - 1, 0x37fffffff, 16299260424}

// latest reports whether the time is the last one that a file system keeps. It then stands for every later time, such
// as one of the year 9999.
func (s Stamp) latest() bool { return slices.Contains(latestTimes, s.Time.Unix()) }
