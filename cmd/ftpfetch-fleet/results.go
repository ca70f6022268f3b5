package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/internal/report"
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
			if err != nil { // another worker was first, or the answer to an earlier try was lost
				clear(o.done)
			}
			return true
		}
		if !wait(w.ctx, time.Second/2) {
			ended++
			time.Sleep(time.Second / 2)
		}
	}
	return false
}

// ack removes a chunk that has a result. If that fails it comes again, and its result is found.
func (w *worker) ack(c *chunk, msg jetstream.Msg, o *outcome) {
	if w.attempt == "" || w.sweep(c, o) == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), asking)
		defer cancel()
		_ = msg.DoubleAck(ctx)
	}
}

// begin notes that this worker has a chunk, if its parts are in a directory that others have too.
func (w *worker) begin(c *chunk) bool {
	ctx, cancel := context.WithTimeout(w.ctx, asking)
	defer cancel()
	if w.attempt == "" {
		return true
	}
	_, err := w.attempts.Create(ctx, c.id()+w.attempt, nil)
	c.again = errors.Is(err, jetstream.ErrKeyExists)
	return err == nil || c.again
}

// attempt returns what is in the names of the parts that a worker has for a chunk. Two chunks may have the same path.
func (c *chunk) attempt(worker string) string {
	if worker == "" {
		return ""
	}
	return strings.ReplaceAll(c.id(), ".", "-") + worker
}

// sweep removes what the attempts at a chunk have left: it has its result, and one that was frozen changes nothing any more.
func (w *worker) sweep(c *chunk, o *outcome) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), asking)
	defer cancel()
	keys, err := w.attempts.ListKeysFiltered(ctx, c.id()+"*")
	if err != nil {
		return err
	}
	all := []string{c.id() + w.attempt}
	for key := range keys.Keys() {
		if key != all[0] {
			all = append(all, key)
		}
	}
	if ctx.Err() != nil { // these may not be all
		return ctx.Err()
	}
	for _, key := range all {
		for _, i := range c.Items {
			dir, name := path.Split(cmp.Or(i.Path, string(i.Raw)))
			if key == all[0] && o.done[dir+name] && !c.again {
				continue
			}
			beside := dir + localfile.Beside(name, c.attempt(key[len(c.id()):])) + ".ftpfetch."
			for _, kind := range []string{"part", "json", "json~"} {
				_ = w.root.Remove(beside + kind) // mostly there is none
			}
		}
	}
	for _, key := range all {
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
