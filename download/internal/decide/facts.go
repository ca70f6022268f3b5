package decide

import "time"

// Facts is all that the decision depends on.
type Facts struct {
	Flags
	Text bool // the transfer is in ASCII type: sizes cannot be compared, and nothing can be resumed

	Here   Here   // what is at the path,
	Local  Stamp  // its size and time, links followed
	Ours   bool   // and this user owns it
	Pieces string // another program's file beside it, which says that pieces are missing; or ""

	Want   int64 // the size that the caller expects; -1 if it expects none
	Listed Stamp // what the listing of the directory says exactly
	Asked  bool  // the server was asked about the file,
	Server Stamp // and said this

	Record Record // what an earlier run recorded of a file of this path, URL, size and time
	Given  bool   // the caller has given a digest
	Digest Digest // what is known of the digest

	Part Part // what an earlier run left beside the path
}

// Flags say what may happen to a file that is there, and how sure it must be.
type Flags struct {
	Existing
	NoResume bool // the part is not resumed
	Verify   bool // a digest must be compared
}

// Existing says what may happen to a file that is there.
type Existing string

// Package download says what each means. The zero value refuses.
const (
	Skip            Existing = "skip"
	Overwrite       Existing = "overwrite"
	Newer           Existing = "newer"
	Continue        Existing = "continue"
	NewerOrContinue Existing = "newer or continue"
)

// Existings are all of them.
var Existings = []Existing{"", Skip, Overwrite, Newer, Continue, NewerOrContinue}

// Updates reports whether the server's time and size decide whether the file is replaced.
func (e Existing) Updates() bool { return e == Newer || e == NewerOrContinue }

// Resumes reports whether the file may be the start of the server's file.
func (e Existing) Resumes() bool { return e == Continue || e == NewerOrContinue }

// Stamp is a size in bytes, -1 if it is not known, and a time of modification, zero if it is not known.
type Stamp struct {
	Size int64
	Time time.Time
}

// complete reports whether both are known.
func (s Stamp) complete() bool { return s.Size >= 0 && !s.Time.IsZero() }

// Unknown is a Stamp that says nothing.
var Unknown = Stamp{Size: -1}

// Here is what is at the path.
type Here int

// Directories, devices and the like are refused before anything is decided.
const (
	Nothing Here = iota
	Regular
	Link     // a symbolic link to a file
	Dangling // a symbolic link to nothing
)

// Record is what an earlier run recorded.
type Record int

// A record counts only for the size and time that the file has.
const (
	NoRecord Record = iota
	Fetched         // the file was fetched whole
	Verified        // its digest was compared, with the given one if there is one
)

// Digest is what is known of the digest of what is at the path.
type Digest int

// A digest is compared only if Next asks for it.
const (
	NotCompared Digest = iota
	Right
	Wrong
)

// Part is what is in the part.
type Part struct {
	Claimed bool   // this run holds it and has looked into it
	Broken  string // why nothing of it counts; "" if it may
	Bytes   int64  // that its journal vouches for
	Adopted int64  // how many of them, from the start, another program brought
	Other   bool   // they belong to another URL
	Checked bool   // they have been compared with the journal,
	Bad     bool   // which they do not match, or not from their start
}

// Do is what to do next.
type Do int

// After an Ask the caller fills in the fact and calls Next again.
const (
	Undecided Do = iota // of a rule: ask the next one
	Leave               // what is there stays, and that is a success
	Refuse              // it stays, and that is an error
	Fetch               // the file
	AskServer           // find out Server
	AskDigest           // find out Digest
	AskPart             // claim the part and find out what is in it
	AskBlocks           // compare the part with its journal
)

// Answer is what Next says.
type Answer struct {
	Do Do
	// of Leave, Refuse and, if the part is given up, Fetch: in words that follow the path
	Why   string
	Cause Cause // of Refuse

	Replace bool   // Fetch may replace what is there
	Start   Start  // from where Fetch goes on
	Note    string // what Fetch should say first; "" for nothing
	For     string // why the file is fetched, in words for people
}

// Cause is the kind of a refusal.
type Cause int

// Each is another error of package download.
const (
	Exists    Cause = iota // Newer would update it
	Other                  // only Overwrite would replace it
	NoStart                // it is not the start of the server's file
	OtherSize              // than the expected one
	Mismatch               // of digests
)

// Start is from where a fetch goes on.
type Start int

// The target is copied, and stays until the file is whole.
const (
	FromNothing Start = iota
	FromPart
	FromTarget
)

// Why a target is left alone.
const (
	LeftExists = "already exists"
	LeftOlder  = "not newer on the server"
	LeftThere  = "already there"
)
