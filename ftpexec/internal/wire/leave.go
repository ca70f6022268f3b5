package wire

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// A transfer that the client no longer wants ends when the client closes the data connection. The server then sends the
// final reply: 426, 451 or another refusal, or 226 if it had sent everything before it noticed. Some servers send two
// (426, 226), and some send the second one late. So Leave only closes the data connection. Before the control
// connection is used again, Settle receives the final reply. The reply to EPSV or PASV, if that is the next command, or
// else to a NOOP, shows where the replies to the next commands begin: no transfer has such a reply.

// ErrUnsettled means that the replies after a transfer that the client has left are not clear.
var ErrUnsettled = fmt.Errorf("%w: the server did not end a transfer that was left", ErrLost)

const (
	// graceAfterLeave bounds the wait, from Leave on, for the final reply.
	graceAfterLeave = 2 * time.Second
	// leastGrace is how long Settle waits at least. A reply that has come can be read at once.
	leastGrace = 200 * time.Millisecond
)

// strays are the replies to a transfer that may follow the final one.
var strays = []int{225, 226, 426, 451}

// leaving is the state of a control connection after Leave.
type leaving struct {
	unsettled bool      // Settle is due
	final     bool      // the final reply of the transfer has come
	at        time.Time // when the transfer was left
	noop      bool      // the next flight begins with NOOP, or with EPSV or PASV
	skip      bool      // replies to the transfer may come before the next one
	// A transfer was left, and none has been whole since then. A reply to a transfer, where another one is due,
	// belongs to it.
	doubt bool
}

// Leave ends a transfer, of which left bytes may be missing; -1 if that is not known. It reads and drops them, if they
// are few and come soon. Otherwise it closes the data connection before its end. Nothing may use the data connection
// meanwhile. Before the next command, Settle must be called.
func (c *Conn) Leave(left int64) {
	whole := left >= 0 && left <= mostDropped && c.data.drop(left)
	c.data.Close()
	c.left = leaving{unsettled: true, final: c.final != nil, at: time.Now(), doubt: !whole || c.left.doubt}
	if !whole {
		c.Note("the rest is not wanted: closing the data connection")
	}
}

// Leave reads at most mostDropped bytes, for dropTime at most: a new connection would take some six round trips.
const (
	mostDropped = 256 << 10
	dropTime    = time.Second
)

// Unsettled reports whether a transfer was left and Settle has not been called.
func (c *Conn) Unsettled() bool { return c.left.unsettled }

// Settle receives the final reply of a transfer that was left. It does nothing if there is none. If ahead is set, NOOP
// is sent in the same write as the next command.
func (c *Conn) Settle(ahead bool) error {
	if !c.left.unsettled || c.Err() != nil {
		return c.Err()
	}
	c.left.unsettled = false
	if !c.left.final {
		if err := c.lastReply(); err != nil {
			return c.fail(err)
		}
	}
	if c.left.noop = ahead && c.left.doubt; ahead || !c.left.doubt {
		return nil
	}
	return c.fail(c.noop())
}

// lastReply receives the final reply of a transfer that was left. pure-ftpd sends another 150 in its place.
func (c *Conn) lastReply() error {
	var r Reply
	for range maxDelays {
		limit := max(leastGrace, time.Until(c.left.at.Add(graceAfterLeave)))
		var err error
		r, err = c.read(limit)
		switch {
		case err != nil && ended(err): // that costs no more than if the client had closed the connection
			return err
		case err != nil:
			return c.unsettled(err)
		case r.First() > 3, r.Ends(), r.Code == 225, r.Code == 150:
			return nil
		case r.First() != 1:
			return c.unsettled(Disorder(r))
		}
	}
	return c.unsettled(senseless("no final reply but preliminary ones", ""))
}

// ended reports whether the server has ended the connection, perhaps with 421.
func ended(err error) bool { return disconnected(err) || errors.As(err, new(*ReplyError)) }

// noop sends NOOP alone, and receives its reply.
func (c *Conn) noop() error {
	if err := c.write([]Line{{Text: "NOOP"}}); err != nil {
		return err
	}
	return c.answerToNOOP()
}

// synchronize receives the reply to the NOOP at the beginning of the last flight, if there is one.
func (c *Conn) synchronize() error {
	if !c.left.noop {
		return nil
	}
	c.left.noop = false
	if c.lines[0].Text != "NOOP" {
		c.left.skip = true
		return nil
	}
	return c.fail(c.answerToNOOP())
}

// afterStrays drops replies to the transfer that was left, and returns the one after them, to EPSV or PASV. r and err
// are what the first read has returned.
func (c *Conn) afterStrays(r Reply, err error, limit time.Duration) (Reply, error) {
	c.left.skip = false
	for range maxDelays {
		if err != nil || !slices.Contains(strays, r.Code) {
			break
		}
		r, err = c.read(min(limit, aheadTimeout))
	}
	if err == nil && !r.opens() {
		err = c.unsettled(Disorder(r))
	}
	return r, err
}

// unsettled returns err as an ErrUnsettled, unless the operation was interrupted.
func (c *Conn) unsettled(err error) error {
	if ended := c.Ended(); ended != nil {
		return ended
	}
	return fmt.Errorf("%w: %w", ErrUnsettled, err)
}

// answerToNOOP receives the reply to NOOP, and drops replies to the transfer before it.
func (c *Conn) answerToNOOP() error {
	for range maxDelays {
		r, err := c.read(min(c.cfg.Timeout, aheadTimeout))
		switch {
		case err != nil && ended(err): // it may have been idle for too long
			return err
		case err != nil:
			return c.unsettled(err)
		case r.Code == 200:
			return nil
		case !slices.Contains(strays, r.Code):
			return c.unsettled(Disorder(r))
		}
	}
	return c.unsettled(senseless("replies without a command", ""))
}

// ends ends a transfer with the final reply r. If alone is set, it makes sure that r is not a late one to a transfer that
// was left: no other may follow it.
func (c *Conn) ends(r Reply, alone bool) error {
	if !r.Ends() {
		c.fail(&ReplyError{r, ErrTruncated})
		return nil
	}
	doubt := c.left.doubt
	c.left.doubt = false
	if !doubt || !alone {
		return nil
	}
	if err := c.write([]Line{{Text: "NOOP"}}); err != nil {
		return err
	}
	next, err := c.read(min(c.cfg.Timeout, aheadTimeout))
	if err == nil && next.Code != 200 {
		err = c.unsettled(Disorder(next))
	}
	return err
}

// strayed returns an error if r, the reply to a command, must be a late one to a transfer that was left.
func (c *Conn) strayed(r Reply) error {
	if c.left.doubt && slices.Contains(strays, r.Code) {
		return c.unsettled(Disorder(r))
	}
	return nil
}

// stray returns the error for a reply that has come without a command.
func (c *Conn) stray() error {
	if c.left.doubt {
		return c.unsettled(ErrStray)
	}
	return ErrStray
}
