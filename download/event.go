package download

import (
	"time"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/decide"
)

// EventKind says what an [Event] is about.
type EventKind string

const (
	// Noted is something worth a line. If Wait is not 0, a try has failed with Err, and the next try follows after
	// Wait. If only Err is set, it is a warning.
	Noted EventKind = "noted"
	// Progress comes regularly and once at the end. Done includes bytes from earlier runs. It decreases if a transfer
	// starts over.
	Progress EventKind = "progress"
	// Started comes, in a [Run], before the run asks the server about a file or a directory. There is
	// none for a file that is already complete and needs no server.
	Started EventKind = "started"
	// Ended comes, in a [Run], once for every file, and for every directory that could not be listed whole.
	Ended EventKind = "ended"
)

// Event is something that happens during a download, for Options.Events and RunOptions.Events.
type Event struct {
	Kind EventKind
	// Text is one line, unless a file name in it has line ends. With Wait it counts the retries in a row without
	// progress: "1 of 5". With Ended, it is set only for what is no file, and says why it was left out: "leads to
	// TARGET, not followed" for a symbolic link, or what it is, such as "is a socket, left out".
	Text  string
	Done  int64 // bytes of the file so far
	Total int64 // bytes of the whole file; -1 if unknown
	Err   error // with Ended, why the task failed
	Wait  time.Duration
	// Detail says that the Text only explains the run. Without it, the user should see the Text: the run would seem to
	// hang, or files may be missing.
	Detail bool

	// The other fields are set only by [Run].

	// Task is the same from Started to Ended. Its first URL is the one being tried. Two kinds also occur without a
	// Task: Progress, regularly and at the end, for all files together; and Noted, about a server or the run.
	Task   *Task
	Result Result // with Ended, unless Text is set; if Err is set, only Kept counts
	Totals Totals // with the Progress of the run
	// Plan is what the run would do with the file: "fetch", "replace" or "leave". It is set with Ended if
	// RunOptions.Dry is, unless Err or Text is set. Result.Left says why, for each of the three. Result.Size is the
	// size of the server's file, or of the file that is left alone; -1 if it is unknown. Result.Resumed is how many
	// bytes need no fetching.
	//
	// If RunOptions.Check is set, Plan is how the file here differs from the server's: "missing", "differs", "same", or
	// "extra" for a file that the server lacks, whose URL is that which it would have. Result.Left says in what it
	// differs. Result.Size is the size of the server's file, or of the extra one.
	Plan string
	// Differs is in what the files differ, for the Plan "differs": "size", "time", "digest", "pieces" (another program
	// has not finished the file here) or "kind" (it is no file here). Untold is what was not compared, "size" or
	// "time", because the server does not tell it or the type is ASCII.
	Differs, Untold []string

	dir bool // Err is about a directory that was not listed whole
}

// LeftBefore is the Result.Left of a file that [RunOptions.Once] leaves out. What is said of the file then is what an
// earlier Run recorded.
const LeftBefore = decide.LeftBefore

// Result describes a finished download. With an error only Kept and Retries may be set.
type Result struct {
	Size int64 // bytes of the file
	// ModTime is the time of the server's file, in UTC. If the server told none, or the local file could not get it, it
	// is zero; with Options.Commit it is then the time of the local file, by which a record can recognize the file.
	ModTime  time.Time
	Left     string     // why the target was left alone, such as "already there"; "" if it was not
	Resumed  int64      // bytes from earlier runs
	Retries  int        // how many failures were retried
	Kept     int64      // after an error: bytes in the part from which the next call resumes
	Verified string     // what the digest was compared with: "sha256 in SHA256SUMS"; "" if nothing
	Checked  time.Time  // when Sum was computed and compared, in UTC
	Sum      digest.Sum // the digest of the file's bytes; the zero value if none was computed
}
