package download

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/ftpexec"
)

// progressInterval is the time between two calls of Options.Progress,
// checkpointInterval that between two journals.
const (
	progressInterval   = 100 * time.Millisecond
	checkpointInterval = time.Second
)

// DefaultRetries is how often a transfer is tried again in a row without
// progress, where Options.Retries is nil. MaxSegments is the most connections
// for one file.
const (
	DefaultRetries = 5
	MaxSegments    = 64
)

// Existing says what happens where the target already exists.
type Existing int

const (
	// Refuse reports [ErrExists] and touches nothing.
	Refuse Existing = iota
	// Overwrite replaces the target, and a NAME.part without a journal, once
	// the new file is whole. A symbolic link is replaced itself, not what it
	// points to.
	Overwrite
	// Skip leaves the target as it is and reports success.
	Skip
)

// Options changes how a file is retrieved. The zero value, and nil, refuse an
// existing target, go on with a partial file of their own, and try again
// [DefaultRetries] times.
type Options struct {
	Existing Existing
	// Newer retrieves a file only where the target is missing, or the server's
	// is newer or of another size; then the target is replaced.
	Newer bool
	// Continue takes the target, or a NAME.part without a journal, for the
	// begin of the file and retrieves the rest. Nothing but its length is
	// checked: see Sum. What it took is given up only with Overwrite or
	// NoResume, in later calls as well; else the error is [ErrResume].
	Continue bool
	// NoResume begins anew where a NAME.part with a journal is left.
	NoResume bool

	// Retries is how often a failure that may pass is tried again in a row
	// without progress; nil means DefaultRetries.
	Retries *int
	// Wait waits before another try; nil uses a timer. It returns an error to
	// give up. Several connections may call it at the same time.
	Wait func(ctx context.Context, d time.Duration) error

	// Segments is how many connections bring one file at the same time, at
	// most MaxSegments; less than 2 is one. More than one needs Parallel.
	Segments int
	// Parallel is the source for further connections, safe for concurrent use:
	// an *ftpexec.Client. nil means the first source where that is one.
	Parallel Source

	// Size is the size that the file must have, in bytes, where it is known
	// from elsewhere. It does not count in ASCII type.
	Size *int64
	// Sum is the digest that the file must have; the zero value is none.
	Sum digest.Sum
	// Verify looks on the server for a digest that the file must have: in
	// lists beside it, then by HASH and its kin. That there is none is
	// [ErrUnverified]. Where Sum is set that one counts alone.
	Verify bool

	// Limit bounds the bytes a second over all that share it; nil: no bound.
	Limit *rate.Limiter

	// Progress, if set, is called now and then from one goroutine while data
	// flows and once at its end, never after the function it was given to has
	// returned. done counts bytes that were there before, too; it falls where
	// a transfer begins anew. total is -1 where the server did not tell the
	// size.
	Progress func(done, total int64)
	// Notify, if set, is told what else a person may want to know. Calls do
	// not overlap.
	Notify func(Event)

	checkpoint time.Duration // between two journals; 0 means checkpointInterval
}

// EventKind says what an [Event] tells.
type EventKind int

const (
	Noted     EventKind = iota // something worth a line
	Resumed                    // a partial file is gone on with, from Offset bytes
	Restarted                  // what was there is given up; the transfer begins anew
	Retrying                   // a try failed with Err and the next one follows after Wait
)

// Event is something that happens on the way, for Options.Notify.
type Event struct {
	Kind   EventKind
	Text   string // one line for a person, but for what names in it hold; "" for Retrying
	Offset int64  // Resumed: bytes that are there already
	Err    error  // Retrying
	Try    int    // Retrying: the tries so far without progress
	Tries  int    // Retrying: how many of them there may be
	Wait   time.Duration
}

// Check returns an *[ftpexec.OptionError] where the options contradict each
// other. [File], [To] and [Save] begin with it.
func (o *Options) Check() error {
	switch {
	case o == nil:
		return nil
	case o.Newer && o.Continue:
		return ftpexec.Contradiction("Newer", "Continue")
	case o.Newer && o.Existing == Skip:
		return ftpexec.Contradiction("Newer", "Existing: Skip")
	case o.Continue && o.Existing == Skip:
		return ftpexec.Contradiction("Continue", "Existing: Skip")
	case o.Continue && o.Existing == Overwrite:
		return ftpexec.Contradiction("Continue", "Existing: Overwrite")
	case o.Continue && o.NoResume:
		return ftpexec.Contradiction("Continue", "NoResume")
	case o.Retries != nil && *o.Retries < 0:
		return &ftpexec.OptionError{Fields: []string{"Retries"}, Reason: "is less than 0: write a whole number from 0"}
	case o.Segments < 0 || o.Segments > MaxSegments:
		return &ftpexec.OptionError{Fields: []string{"Segments"}, Reason: fmt.Sprintf("is not from 0 to %d", MaxSegments)}
	}
	return nil
}

// orDefault gives a nil Options and fields left zero their meaning, on a copy.
// src is the first source.
func (o *Options) orDefault(src Source) *Options {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Retries == nil {
		c.Retries = new(DefaultRetries)
	}
	if c.Wait == nil {
		c.Wait = sleep
	}
	if c.checkpoint == 0 {
		c.checkpoint = checkpointInterval
	}
	if client, ok := src.(*ftpexec.Client); ok && c.Parallel == nil {
		c.Parallel = client
	}
	if notify := c.Notify; notify != nil {
		var one sync.Mutex
		c.Notify = func(e Event) { one.Lock(); defer one.Unlock(); notify(e) }
	}
	return &c
}

func (o *Options) notify(e Event) {
	if o.Notify != nil {
		o.Notify(e)
	}
}

// restarted tells that what path holds is given up.
func (o *Options) restarted(path, why string) {
	o.notify(Event{Kind: Restarted, Text: path + ": " + why + ": beginning anew"})
}

func (o *Options) note(text string) { o.notify(Event{Kind: Noted, Text: text}) }

// muchToRead is what takes seconds to read, in bytes.
const muchToRead = 1 << 30

// reading tells that n bytes of the file at path are read before the server is
// asked, where that takes a while.
func (o *Options) reading(path string, n int64) {
	if n >= muchToRead {
		o.note(fmt.Sprintf("%s: reading %d bytes to check them", path, n))
	}
}

// report calls Progress with what count returns now and then, until the
// returned function is called. It reads counters: nothing stands in the way of
// the data.
func (o *Options) report(count func() (done, total int64)) (stop func()) {
	if o.Progress == nil {
		return func() {}
	}
	o.Progress(count())
	end := every(progressInterval, func() { o.Progress(count()) })
	return func() { end(); o.Progress(count()) }
}
