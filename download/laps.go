package download

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"

	"example.com/ftpfetch/ftpexec"
)

// lapSize is how many bytes a response brings before its own, to compare them with
// what is there: a server that does not start where it is asked to sends others.
const lapSize = 512

// before returns the lap of a response whose own bytes begin at start.
func before(start int64) span { return span{max(0, start-lapSize), start} }

// lap holds bytes of the file that a response had beside its own.
type lap struct {
	span
	b []byte
}

// noRestart says why a transfer can only begin with a file's first byte. It is
// errAgain too.
type noRestart string

func (n noRestart) Error() string     { return string(n) }
func (n noRestart) Is(err error) bool { return err == errAgain }

const (
	// errNoRestart means that the server turned out not to support REST.
	errNoRestart noRestart = "the server cannot start in the middle of a file"
	// errMisplaced means that two responses differ about the same bytes.
	errMisplaced noRestart = "the server does not start where it is asked to, or its file has changed"
	// errBeyond means that a response from the middle went on after the file's end:
	// what came like it cannot be trusted, not even if all bytes are the same.
	errBeyond noRestart = "the server does not start where it is asked to"
)

// compare reads x of the file from resp and compares it with f, the part: now, or
// as soon as all of x is there.
func (l *arrivals) compare(resp *ftpexec.Response, f *os.File, x span) error {
	b := make([]byte, max(0, x.len()))
	if _, err := io.ReadFull(resp.Body, b); err != nil {
		return bodyError(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.laps = append(l.laps, lap{x, b})
	return l.agree(f, l.state.done)
}

// agree compares the laps that lie in done with f. The caller must hold mu.
func (l *arrivals) agree(f *os.File, done spans) (err error) {
	l.laps = slices.DeleteFunc(l.laps, func(x lap) bool {
		if !slices.ContainsFunc(done, func(y span) bool { return y.start <= x.start && x.end <= y.end }) {
			return x.len() <= 0
		}
		b := make([]byte, len(x.b))
		if rerr := readFull(diskReader{context.Background(), f}, b, x.start); rerr != nil {
			err = failure(l.part.partial, "cannot be read", rerr)
		} else if !bytes.Equal(b, x.b) {
			err = errMisplaced
		}
		return true
	})
	return err
}

// after returns the lap that a response can have at its end: what an earlier one
// has brought there.
func (l *arrivals) after(end int64) span {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range l.state.done {
		if x.start <= end && end < x.end {
			return span{end, min(x.end, end+lapSize)}
		}
	}
	return span{}
}
