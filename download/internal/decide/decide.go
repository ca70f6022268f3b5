// Package decide says what happens to a file: whether what is at its path stays, whether it is refused, or from where the
// file is fetched. It is one pure function, [Next]. It touches no disk and asks no server: if it needs to know more, its
// answer is what to find out. docs/download.md has the table that it makes.
package decide

import (
	"fmt"
	"time"
)

// rules are asked in this order. The first that knows what to do decides.
var rules = []func(*Facts) (Answer, bool){
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
		if a, decided := rule(f); decided {
			return a
		}
	}
	return f.compare()
}

var undecided = Answer{}

func (f *Facts) nothingThere() (Answer, bool) {
	switch {
	case f.Here == Nothing:
		return f.fetch(f.Overwrite, false, "not here"), true
	case f.Overwrite && !f.Newer:
		return f.fetch(true, false, "as --overwrite says"), true
	}
	return undecided, false
}

// unexpectedSize refuses a file that is not as long as the caller expects, unless a flag lets it be updated.
func (f *Facts) unexpectedSize() (Answer, bool) {
	if !f.differs(f.Want) || f.Newer || f.Continue {
		return undecided, false
	}
	if f.Skip {
		return f.otherSize(OtherSize), true
	}
	return f.otherSize(Other), true
}

func (f *Facts) otherSize(cause Cause) Answer {
	return refuse(cause, fmt.Sprintf("exists with %d bytes, not the expected %d", f.Local.Size, f.Want))
}

// recorded leaves a file that an earlier run has fetched, if nothing that is known speaks against it.
func (f *Facts) recorded() (Answer, bool) {
	known := f.known()
	switch {
	case f.Record == NoRecord, f.Record == Fetched && f.Verify, f.Here != Regular, f.Pieces != "":
		return undecided, false
	case f.differs(known.Size), f.differs(f.Want), f.newerThanLocal(known):
		return undecided, false
	case f.Newer && !f.Given && (known.Size < 0 || known.Time.IsZero()): // only the server knows whether its file is newer
		return undecided, false
	}
	return Answer{Do: Leave, Why: LeftThere}, true
}

// digest decides by the digest that the caller has given, and by any that is wrong.
func (f *Facts) digest() (Answer, bool) {
	switch {
	case f.Digest == Wrong:
		return f.wrongDigest()
	case !f.Given:
		return undecided, false
	case f.Digest == Right:
		return f.leave(LeftThere), true
	case f.differs(f.known().Size) && !f.Skip: // so the digest differs too
		return undecided, false
	case f.Continue && f.known().Size < 0 && !f.Asked: // it may be the start of the file
		return Answer{Do: AskServer}, true
	}
	return Answer{Do: AskDigest}, true
}

func (f *Facts) wrongDigest() (Answer, bool) {
	switch {
	case f.Newer:
		a := f.fetch(true, false, "has another digest")
		a.Note = "fetching it again"
		return a, true
	case f.Continue && f.Local.Size < f.known().Size:
		return undecided, false // it may be the start of the file
	case f.Given && !f.Skip && !f.Continue:
		return refuse(Other, "exists with another digest"), true
	}
	return refuse(Mismatch, "exists with another digest"), true
}

func (f *Facts) skip() (Answer, bool) {
	if !f.Skip {
		return undecided, false
	}
	return f.leave(LeftExists), true
}

// inPieces refuses a file that another program has not finished, although it has its full size from the start.
func (f *Facts) inPieces() (Answer, bool) {
	if f.Pieces == "" {
		return undecided, false
	}
	why := "lacks pieces, as " + f.Pieces + " tells"
	if f.Newer || f.Continue {
		return refuse(NoStart, why), true
	}
	return refuse(Other, why), true
}

// newer decides by the server's time and size. With Continue a shorter file that is no older may be the start.
func (f *Facts) newer() (Answer, bool) {
	known := f.known()
	switch {
	case !f.Newer:
		return undecided, false
	case f.Here == Dangling:
		return refuse(Exists, "leads to nothing"), true
	case f.differs(known.Size) && !f.Continue:
		return f.fetch(true, false, f.sizes(known)), true
	case !f.Asked && (known.Size < 0 || known.Time.IsZero()):
		return Answer{Do: AskServer}, true
	case known.Time.IsZero():
		a := f.fetch(true, false, "the server tells no time")
		a.Note = "the server does not report the file's time: retrieving it"
		return a, true
	case f.newerThanLocal(known):
		return f.fetch(true, false, "newer on the server"), true
	case !f.differs(known.Size):
		return f.leave(LeftOlder), true
	case known.Size < f.Local.Size, f.Asked && f.Server.Size < 0: // only the server can say where to resume
		return f.fetch(true, false, f.sizes(known)), true
	}
	return undecided, false
}

// resume takes what is there for the start of the server's file, if Continue is set and nothing speaks against it.
func (f *Facts) resume() (Answer, bool) {
	why := ""
	switch {
	case !f.Continue:
		return undecided, false
	case f.Text || f.Here != Regular:
		why = "only a regular file can be resumed, and not as text (;type=a)"
	case !f.Ours:
		why = "cannot be resumed: it belongs to another user"
	case !f.Asked:
		return Answer{Do: AskServer}, true
	case f.Server.Size < 0:
		why = "cannot be resumed: the server does not report the file's size"
	case f.Local.Size > f.Server.Size:
		why = fmt.Sprintf("has %d bytes, but the server's file has only %d", f.Local.Size, f.Server.Size)
	case f.newerThanLocal(f.known()):
		why = "is older than the server's file, which has changed since"
	case f.Local.Size == f.Server.Size:
		return f.leave(LeftThere), true
	default:
		return f.fetch(true, true, "the rest is missing"), true
	}
	return refuse(NoStart, why), true
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
		return refuse(Exists, "has the size of the server's, which tells no time")
	case f.newerThanLocal(known):
		return refuse(Exists, "is older than the server's, and of the same size")
	case f.Local.Time.Sub(known.Time) > Slack:
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

// fetch fetches the file: from the part, or from what is there if that may be its start, or anew.
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
	foreign := p.Adopted > 0 && !f.Continue || start && p.Adopted > 0 && p.Adopted != f.Local.Size
	switch {
	case p.Broken != "":
		return p.Broken
	case p.Bytes == 0:
		return ""
	case f.NoResume:
		return "not resumed, as requested"
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

// known is what the server says of the file, or else the listing of its directory.
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

// differs reports whether a size is known and is not the one of what is there.
func (f *Facts) differs(size int64) bool { return size >= 0 && size != f.Local.Size && !f.Text }

// newerThanLocal reports whether s is newer than what is there. An unknown time is not.
func (f *Facts) newerThanLocal(s Stamp) bool { return s.Time.After(f.Local.Time.Add(Slack)) }
