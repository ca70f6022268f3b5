package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/ftpfetch/internal/cli/report"
	"example.com/ftpfetch/internal/local/localfile"
)

// tallyHeader names the header of a result that has its tally. Who counts reads only headers.
const tallyHeader = "Fleet-Tally"

func subject(c *chunk) string { return fmt.Sprintf("results.%s.%d", c.Job, c.N) }

func (c *chunk) id() string { return fmt.Sprintf("%s.%d.", c.Job, c.N) }

// known reports whether a chunk has a result.
func (w *worker) known(c *chunk) bool {
	ctx, cancel := context.WithTimeout(w.ctx, asking)
	defer cancel()
	_, err := w.results.GetLastMsgForSubject(ctx, subject(c))
	return err == nil
}

// cancelled reports whether the job of a chunk was cancelled. Its chunk may have been sent after those of it were taken back.
func (w *worker) cancelled(c *chunk) (bool, error) {
	ctx, cancel := context.WithTimeout(w.ctx, asking)
	defer cancel()
	e, err := w.jobs.Get(ctx, c.Job)
	if err != nil {
		return errors.Is(err, jetstream.ErrKeyNotFound), err
	}
	var j job
	err = json.Unmarshal(e.Value(), &j)
	return j.State == "cancelled", err
}

// publish gives the server the result of a chunk. There is one for ever: even the acknowledgement of an old delivery
// succeeds, and message ids are forgotten. publish does not end with the slot, but with the worker, some time later.
func (w *worker) publish(c *chunk, o *outcome) bool {
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	_, err := z.Write(o.rows.Bytes())
	if err = errors.Join(err, z.Close()); err != nil {
		return false
	}
	sum, _ := json.Marshal(o.tally)
	msg := &nats.Msg{Subject: subject(c), Data: body.Bytes(), Header: nats.Header{tallyHeader: {string(sum)}}}
	for ended := 0; ended < 3; { // tries after the worker was told to end
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), asking)
		_, err := w.js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(0))
		cancel()
		if bad, ok := errors.AsType[*jetstream.APIError](err); err == nil || ok && bad.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence {
			return true // the second: another attempt was first, or the answer to an earlier try was lost
		}
		if !wait(w.ctx, time.Second/2) {
			ended++
			time.Sleep(time.Second / 2)
		}
	}
	return false
}

// ack removes a chunk that has a result, and what the attempts at it have left: it has its result, and one that was frozen
// changes nothing any more. If that fails the chunk comes again, and its result is found.
func (w *worker) ack(c *chunk, msg jetstream.Msg, o *outcome) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), asking)
	defer cancel()
	attempts, err := w.attemptsAt(ctx, c)
	if err == nil {
		err = w.sweep(c, attempts, o)
	}
	if err == nil {
		_ = msg.DoubleAck(ctx)
	}
}

// ended is the value of an attempt that writes nothing any more. The next attempt may have its parts.
const ended = "ended"

// begin gives an attempt at a chunk its name, which nobody else ever has: no other worker, no other lane, and not this one
// when the chunk comes again. Its parts bear it in a directory that others have too, where locks may not work. It goes on
// from the parts of attempts that have ended, of which each is given to one alone.
func (w *worker) begin(c *chunk) bool {
	if !w.shared {
		return true
	}
	ctx, cancel := context.WithTimeout(w.ctx, asking)
	defer cancel()
	before, err := w.attemptsAt(ctx, c)
	if err != nil {
		return false
	}
	c.attempt = rand.Text()
	if _, err = w.attempts.Create(ctx, c.id()+c.attempt, nil); err != nil {
		return false
	}
	for key, e := range before {
		if string(e.Value()) != ended {
			continue
		}
		if _, err := w.attempts.Update(ctx, key, nil, e.Revision()); err == nil {
			c.inherits = true
			for _, i := range c.Items {
				from, to := i.parts(part(key)), i.parts(c.part())
				for n := range from {
					_ = w.root.Rename(from[n], to[n]) // mostly there is none
				}
			}
		}
	}
	return true
}

// leave tells that an attempt which has no result writes nothing any more.
func (w *worker) leave(c *chunk) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), asking)
	defer cancel()
	if c.attempt != "" {
		_, _ = w.attempts.Put(ctx, c.id()+c.attempt, []byte(ended))
	}
}

// part returns what is in the names of the parts of the attempt with a key. Two chunks may have the same path.
func part(key string) string { return strings.ReplaceAll(key, ".", "-") }

func (c *chunk) part() string {
	if c.attempt == "" {
		return ""
	}
	return part(c.id() + c.attempt)
}

// parts returns the names that the part of an item may have, and its journals.
func (i item) parts(attempt string) [3]string {
	dir, name := path.Split(i.path())
	beside := dir + localfile.Beside(name, attempt) + ".ftpfetch."
	return [...]string{beside + "part", beside + "json", beside + "json~"}
}

// attemptsAt returns all attempts at a chunk by their keys.
func (w *worker) attemptsAt(ctx context.Context, c *chunk) (map[string]jetstream.KeyValueEntry, error) {
	if !w.shared {
		return nil, nil
	}
	return readAll(ctx, w.attempts, c.id()+"*")
}

// sweep removes what attempts at a chunk have left. A file that this attempt has fetched itself has left nothing.
func (w *worker) sweep(c *chunk, attempts map[string]jetstream.KeyValueEntry, o *outcome) (err error) {
	for key := range attempts {
		for at, i := range c.Items {
			if key == c.id()+c.attempt && !c.inherits && o.done[at] != nil && o.done[at].Complete > o.done[at].Before {
				continue
			}
			for _, name := range i.parts(part(key)) {
				_ = w.root.Remove(name) // mostly there is none
			}
		}
		err = errors.Join(err, w.attempts.Purge(context.WithoutCancel(w.ctx), key))
	}
	return err
}

// each calls use with the results of a job, in their order, from *from in the stream on, and moves *from behind the last.
func (f *fleet) each(ctx context.Context, id string, from *uint64, headers bool, use func(tally, []byte) error) error {
	c, err := f.js.OrderedConsumer(ctx, "RESULTS", jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{"results." + id + ".*"}, HeadersOnly: headers, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(1, *from),
	})
	if err != nil {
		return err
	}
	info, err := c.Info(ctx)
	if err != nil || info.NumPending == 0 {
		return err
	}
	all, err := c.Messages()
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, all.Stop)()
	defer all.Stop()
	for left := info.NumPending; left > 0; {
		msg, err := all.Next()
		if err != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		at, err := msg.Metadata()
		var t tally
		if err == nil {
			err = json.Unmarshal([]byte(msg.Headers().Get(tallyHeader)), &t)
		}
		if err == nil {
			err = use(t, msg.Data())
		}
		if err != nil {
			return err
		}
		left, *from = at.NumPending, at.Sequence.Stream+1
	}
	return nil
}

// sum is what the results of a job so far bring.
type sum struct {
	tally
	results int
	from    uint64 // the next one in the stream
}

// read adds the results that have come since.
func (s *sum) read(ctx context.Context, f *fleet, id string) error {
	return f.each(ctx, id, &s.from, true, func(t tally, _ []byte) error {
		s.join(t)
		s.results++
		return nil
	})
}

// join adds a tally. The first failure counts, in the order of the results, which is the same for all who ask.
func (t *tally) join(u tally) {
	t.Ended, t.Complete, t.Before, t.Failed, t.Bytes = t.Ended+u.Ended, t.Complete+u.Complete, t.Before+u.Before, t.Failed+u.Failed, t.Bytes+u.Bytes
	if t.Code == 0 {
		t.Code = u.Code
	}
}

// writeReport writes the rows of a job: the table of ftpfetch --report.
func writeReport(ctx context.Context, c *command, f *fleet) error {
	j, err := f.find(ctx, c.operand())
	if err != nil {
		return err
	}
	to, err := report.Create(c.output, "", c.out)
	if err != nil {
		return localfile.Failure(c.output, "cannot be written", err)
	}
	err = f.each(ctx, j.ID, new(uint64), false, func(_ tally, body []byte) error {
		z, err := gzip.NewReader(bytes.NewReader(body))
		for d := json.NewDecoder(z); err == nil; {
			var row report.Row
			if err = d.Decode(&row); err == nil {
				err = localfile.Failure("the report", "cannot be written", to.Write(row))
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	})
	return errors.Join(err, to.Close())
}
