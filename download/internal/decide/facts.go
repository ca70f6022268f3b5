package decide

import "time"

// Facts are all that the decision depends on.
type Facts struct {
	Flags
	Text bool // the transfer is in ASCII type: sizes cannot be compared, and nothing can be resumed

	Here   Here   // what is at the path: the target
	Local  Stamp  // the target's size and time, after following links
	Ours   bool   // this user owns the target
	Pieces string // another program's file beside the target that shows that pieces are missing; or ""

	Want   int64 // the size that the caller expects; -1 if it expects none
	Listed Stamp // exact size and time from the listing of the directory
	Asked  bool  // the server was asked about the file
	Server Stamp // what the server answered

	// Tried is the server's time that the disk was asked about: what it makes of it. If the target's time is that, or if
	// the disk takes no times, Local has the server's time.
	Tried time.Time

	// Before is the server's file as an earlier run fetched it, whatever has become of it here; nil if there was no
	// such run, or if the caller does not ask.
	Before *Stamp
	Record Record // what an earlier run recorded about this path, URL, size and time
	Given  bool   // the caller has given a digest
	Digest Digest // the result of comparing the target's digest
	// Mismatch says, for Compare, how a Wrong digest differs.
	Mismatch string

	Part Part // what an earlier run left beside the path
}

// Flags say what may happen to a target that exists, and whether a digest must be compared.
type Flags struct {
	Existing
	NoResume bool // the part is not resumed
	Verify   bool // a digest must be compared
}

// Stamp is a size in bytes, -1 if it is not known, and a time of modification, zero if it is not known.
type Stamp struct {
	Size int64
	Time time.Time
}

// complete reports whether size and time are both known.
func (s Stamp) complete() bool { return s.Size >= 0 && !s.Time.IsZero() }

// Unknown is a Stamp whose size and time are not known.
var Unknown = Stamp{Size: -1}

// Here is what is at the path.
type Here int

// Directories, devices and the like are refused before Next is called.
const (
	Nothing Here = iota
	Regular
	Link     // a symbolic link to a file
	Dangling // a symbolic link to nothing
)

// Record is what an earlier run recorded about the target.
type Record int

// A record counts only if its size and time are the target's.
const (
	NoRecord Record = iota
	Fetched         // the file was fetched whole
	Verified        // its digest was compared, with the caller's if one was given
)

// Digest is the result of comparing the target's digest.
type Digest int

// The digest is compared only after Next has answered AskDigest.
const (
	NotCompared Digest = iota
	Right
	Wrong
)

// Part describes the part that an earlier run left.
type Part struct {
	Claimed bool   // this run has claimed it and read its journal
	Broken  string // why it cannot be used at all; "" if it can
	Bytes   int64  // bytes that its journal vouches for
	Adopted int64  // bytes at its start that another program brought
	Other   bool   // its bytes are from another URL
	Checked bool   // its bytes have been compared with the journal
	Bad     bool   // they do not match the journal, or not from their start
}

// Do is what to do next.
type Do int

// After an Ask the caller fills in the fact and calls Next again.
const (
	Undecided Do = iota // the rule does not decide: try the next one
	Leave               // the target stays, and that is a success
	Refuse              // the target stays, and that is an error
	Fetch               // fetch the file
	AskServer           // find out Server
	AskDisk             // find out Tried
	AskDigest           // find out Digest
	AskPart             // claim the part and find out what is in it
	AskBlocks           // compare the part with its journal
)

// Answer is what Next decides.
type Answer struct {
	Do Do
	// Why is the reason for Leave and Refuse and, if Fetch gives up the part, for that. It follows the path in a
	// message.
	Why   string
	Cause Cause // the kind of Refuse

	Replace bool   // Fetch may replace the target
	Start   Start  // where Fetch starts
	Note    string // what to tell the user before Fetch; "" for nothing
	For     string // why the file is fetched, for the user
}

// Cause is the kind of a refusal.
type Cause int

// Package download makes a different error of each.
const (
	Exists    Cause = iota // Newer would update it
	Other                  // only Overwrite would replace it
	NoStart                // the target is not the start of the server's file
	OtherSize              // the size is not the expected one
	Mismatch               // the digest is not the expected one
	Shorter                // Continue would take it as the start of the server's file, Newer would update it
)

// Start is where a fetch starts.
type Start int

// FromTarget copies the target, which stays until the file is whole.
const (
	FromNothing Start = iota
	FromPart
	FromTarget
)
