package ftpfs

import (
	"errors"
	"io"
	"io/fs"
	"slices"

	"example.com/ftpfetch/ftpexec"
)

// near is how many bytes before a position are read and dropped at most, in place of another transfer.
const near = 256 << 10

// mostTransfers is how many transfers a file has at once if Client.MaxConns is 0.
const mostTransfers = 8

// transfers are the transfers of a file. Calls of ReadAt that run at once each have one. There are never more than calls
// have run at once, so a program that reads one place after another has one.
type transfers struct {
	all  []*transfer // the one used longest ago is the first
	most int
}

// transfer is one transfer of the file.
type transfer struct {
	body io.ReadCloser // nil if none is under way
	at   int64         // where body is in the file
	busy bool          // a call uses it
	// where the call begins and ends
	from, to int64
}

// giveUp ends the transfer.
func (t *transfer) giveUp() {
	if t.body != nil {
		t.body.Close()
		t.body = nil
	}
}

// take returns a transfer for a call that reads from off to end, and that alone uses it until put. It is one that is a
// little before off, or else another one or a new one. take waits while another call reads up to a place a little before
// off, while all transfers are in use, and during the first Read, which finds out what the file is. Without a transfer
// it returns what the call returns.
func (f *file) take(off, end int64) (*transfer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		if f.closed {
			return nil, fs.ErrClosed
		}
		if err, over := f.over(off); over {
			return nil, err
		}
		if t := f.choose(off); t != nil {
			t.busy = true
			t.from = off
			t.to = end
			return t, nil
		}
		f.some.Wait()
	}
}

// choose returns a transfer for a call at off, or nil if the call must wait.
func (f *file) choose(off int64) *transfer {
	var best, free *transfer
	busy := 0
	for _, t := range f.all {
		switch {
		case t.busy:
			busy++
			if within(t.to, off) && t.to-t.from <= near {
				return nil
			}
		case within(t.at, off) && (best == nil || t.at > best.at):
			best = t
		case free == nil:
			free = t
		}
	}
	switch {
	case best != nil:
		return best
	case busy > 0 && !f.given && f.whole == nil:
		return nil
	case free == nil && len(f.all) < f.most:
		free = &transfer{}
		f.all = append(f.all, free)
	}
	return free
}

// within reports whether off is at most a little after at.
func within(at, off int64) bool { return at <= off && off <= at+near }

// put takes a transfer back. It reports whether the call should try again, with another one, because the server allows
// no more connections.
func (f *file) put(t *transfer, err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	t.busy = false
	f.all = slices.DeleteFunc(f.all, func(other *transfer) bool { return other == t })
	if t.body != nil {
		f.all = append(f.all, t)
	}
	f.some.Broadcast()
	if !errors.Is(err, ftpexec.ErrTooMany) || len(f.all) == 0 {
		return false
	}
	f.most = len(f.all)
	return true
}
