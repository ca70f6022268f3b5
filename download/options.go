package download

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/algorithm"
	"example.com/ftpfetch/download/internal/decide"
)

// Existing says what happens to a target that exists. The zero value leaves the target as it is. That is a success if
// the target has the size and time of the server's file, or the digest in Options.Sum, and otherwise the error is
// [fs.ErrExist].
type Existing string

const (
	// Skip leaves the target as it is and reports success.
	Skip = Existing(decide.Skip)
	// Overwrite replaces the target once the new file is whole. It replaces a symbolic link itself, not the file that
	// the link points to.
	Overwrite = Existing(decide.Overwrite)
	// Newer replaces the target if the server's file is newer or has another size. Otherwise it leaves the target and
	// reports success.
	Newer = Existing(decide.Newer)
	// Continue uses the target as the start of the file and retrieves the rest. It compares only the target's size,
	// time and last bytes; to compare all bytes, set Options.Sum. Continue copies the target, which stays until the
	// whole file replaces it. If the call would have to start over, it fails with [ErrResume].
	Continue = Existing(decide.Continue)
	// NewerOrContinue is like Newer, but continues a target that is shorter and no older, as Continue does.
	NewerOrContinue = Existing(decide.NewerOrContinue)
)

// Options changes how a file is retrieved. The zero value and nil replace no target, resume a partial file of an
// earlier call, and retry five times. JSON has only what the fleet sends to its workers: Existing, NoResume, Retries,
// RetryUnreached and Verify.
type Options struct {
	// Existing says what happens to a target that exists.
	Existing Existing
	// NoResume starts over even if a part could be resumed.
	NoResume bool

	// Root, if not nil, is the directory that the download must not leave. The path is relative to it, and symbolic
	// links out of it are not followed. The download makes missing directories below Root, with mode 0777 less umask;
	// if it fails, it removes those that it made and that are empty. It refuses a device or FIFO. The caller closes
	// Root.
	Root *os.Root `json:"-"`

	// Retries is how many times in a row, without progress, a failure that may pass is retried; 0 means five, and less
	// than 0 means never.
	Retries int

	// RetryUnreached retries also if the server was never reached, because it refuses the connection, does not answer, or
	// has no route to it. Otherwise that is an error at once: the address is probably wrong. A host without an address in
	// DNS is never retried.
	RetryUnreached bool

	// Segments is how many connections fetch one file at the same time, at most 64; 0 and 1 mean one. With AutoSegments
	// the transfer begins with one and uses more, at most 16, as long as they make it faster.
	Segments int `json:"-"`

	// Size is the size that the file must have, in bytes; nil means any. It does not apply in ASCII type. The error is
	// [ftpexec.ErrChanged].
	Size *int64 `json:"-"`
	// Sum is the digest that the file must have; the zero value means any.
	Sum digest.Sum `json:"-"`
	// Verify looks on the server for a digest that the file must have: in lists beside it, then by HASH and similar
	// commands, then in lists of the two directories above. If there is none, the error is [ErrUnverified]. If Sum is
	// set, only Sum counts.
	Verify bool

	// Limit limits the bytes per second of all downloads that share it; nil means no limit. A [rate.Limiter] is one.
	// The download calls WaitN before it writes n bytes. WaitN waits until the limit allows them; its error ends the
	// download. If Limit has a method Burst() int, as [rate.Limiter] has, n is at most the result of Burst, and
	// otherwise at most 32 KiB.
	//
	// [rate.Limiter]: https://pkg.go.dev/golang.org/x/time/rate#Limiter
	Limit interface {
		WaitN(ctx context.Context, n int) error
	} `json:"-"`

	// Events, if set, is called for each event. Calls do not overlap, and there are none after [File], [Get] or [To]
	// has returned.
	Events func(Event) `json:"-"`
	// Commit, if set, is called when a file is complete, verified and flushed to the disk, just before it gets its
	// name, so that Commit can record the file. If the file replaces one of the same size and time, which the record
	// would fit too, Commit is called just after the rename. The Result is the one that [File] is about to return. A
	// record may exist without the file: if the process is killed or the rename fails, the target is missing or still
	// an earlier file, and the next run calls Commit again. If Commit returns an error, the download fails with that
	// error. The part stays as after any failure, so that the next run resumes. Commit is not called for a target that
	// is left alone, nor for a device or FIFO. [To] refuses it.
	Commit func(Result) error `json:"-"`

	// Attempt, if not "", names one of several processes that fetch the same file at the same time. It is part of the
	// names of the part and the journal, so that each process has its own.
	Attempt string `json:"-"`

	checkpoint time.Duration // interval between journals; 0 means a second
}

// AutoSegments is the value of [Options.Segments] with which a transfer finds the number of connections.
const AutoSegments = -1

const maxSegments = 64

// flags returns the options on which the decision about an existing file depends.
func (o *Options) flags() decide.Flags {
	return decide.Flags{Existing: decide.Existing(o.Existing), NoResume: o.NoResume, Verify: o.Verify}
}

// check returns an error if the options contradict each other.
func (o *Options) check() error {
	flags := o.flags()
	switch {
	case !slices.Contains(decide.Existings, flags.Existing):
		return fmt.Errorf("%q is no value of Existing: use one of the constants", o.Existing)
	case flags.Resumes() && o.NoResume:
		return errors.New("the options contradict each other: Existing continues a file, NoResume starts over: use one")
	}
	if a := string(o.Sum.Algorithm); a != "" || len(o.Sum.Digest) > 0 {
		if !slices.Contains(algorithm.Names(), a) || len(o.Sum.Digest) != algorithm.New(a).Size() {
			return fmt.Errorf("the Sum is no digest of an algorithm %q: use digest.Parse", a)
		}
	}
	if o.Segments < AutoSegments || o.Segments > maxSegments {
		return fmt.Errorf("the number of Segments is not from 0 to %d, nor AutoSegments", maxSegments)
	}
	return nil
}
