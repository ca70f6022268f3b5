package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/ftpfetch/cmd/internal/cli/report"
	"example.com/ftpfetch/internal/local/localfile"
)

// tallyHeader names the header of a result that has its tally. Counting needs only the headers.
const tallyHeader = "Fleet-Tally"

func (c *chunk) id() string { return fmt.Sprintf("%s.%s.", c.Job, c.ID) }

// deleted is the state of a job that does not exist.
const deleted = "deleted"

// jobState returns the State of the job of a chunk.
func (w *worker) jobState(c *chunk) (string, error) {
	ctx, cancel := context.WithTimeout(w.ctx, asking)
	defer cancel()
	e, err := w.jobs.Get(ctx, c.Job)
	var j job
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return deleted, nil
	}
	if err == nil {
		err = json.Unmarshal(e.Value(), &j)
	}
	return j.State, err
}

// publish gives the server the result of a chunk. record makes sure that there is only ever one: the server
// acknowledges even old deliveries, and forgets message ids.
func (w *worker) publish(c *chunk, o *outcome) bool {
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	_, err := z.Write(o.rows.Bytes())
	if err = errors.Join(err, z.Close()); err != nil {
		return false
	}
	sum, _ := json.Marshal(o.tally)
	return w.record(c,
		&nats.Msg{Data: body.Bytes(), Header: nats.Header{tallyHeader: {string(sum)}}})
}

// ack removes a chunk that has a result, and what all attempts at it have left. No attempt needs it: one that was
// frozen cannot add a result. If ack fails, the chunk is delivered again, and its result is found.
func (w *worker) ack(c *chunk, msg jetstream.Msg, o *outcome) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), asking)
	defer cancel()
	attempts, err := w.attemptsAt(ctx, c)
	if err == nil {
		err = w.sweep(c, attempts, o)
	}
	if err == nil {
		err = w.uncount(ctx, c, msg)
	}
	if err == nil {
		_ = msg.DoubleAck(ctx)
	}
}

// dropped reports whether the job of a chunk was deleted. If so, it removes everything of the chunk.
func (w *worker) dropped(c *chunk, msg jetstream.Msg, o *outcome) bool {
	state, err := w.jobState(c)
	is := err == nil && state == deleted
	if is {
		w.ack(c, msg, o)
		c.attempt = ""
	}
	return is
}

// ended is the value of an attempt that will write nothing more. The next attempt may take over its parts.
const ended = "ended"

// begin gives an attempt at a chunk a unique name: no other worker, no other lane, and no later attempt of this one has
// it. The names of its parts contain it, because locks may not work in a shared directory. begin also takes over the
// parts of attempts that have ended. Each of those goes to one new attempt only.
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
		if string(e.value) != ended {
			continue
		}
		if _, err := w.attempts.Update(ctx, key, nil, e.rev); err == nil {
			c.inherits = true
			for _, i := range c.Items {
				from, to := i.parts(part(key)), i.parts(c.part())
				for n := range from {
					_ = w.root.Rename(from[n], to[n]) // usually there is none
				}
			}
		}
	}
	return true
}

// leave records that an attempt without a result will write nothing more.
func (w *worker) leave(c *chunk) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), asking)
	defer cancel()
	if c.attempt != "" {
		_, _ = w.attempts.Put(ctx, c.id()+c.attempt, []byte(ended))
	}
}

// part returns the text that the parts of the attempt with this key have in their names. Two chunks may have the same
// path.
func part(key string) string { return strings.ReplaceAll(key, ".", "-") }

func (c *chunk) part() string {
	if c.attempt == "" {
		return ""
	}
	return part(c.id() + c.attempt)
}

// parts returns the possible names of an item's part and its journals.
func (i item) parts(attempt string) (all []string) {
	dir, name := path.Split(i.path())
	for _, stem := range []string{localfile.Beside(name, attempt), localfile.ShortBeside(name, attempt)} {
		beside := dir + stem + ".ftpfetch."
		all = append(all, beside+"part", beside+"json", beside+"next")
	}
	return all
}

// attemptsAt returns all attempts at a chunk, by key.
func (w *worker) attemptsAt(
	ctx context.Context, c *chunk,
) (map[string]held, error) {
	if !w.shared {
		return nil, nil
	}
	return readAll(ctx, w.fleet, w.attempts, c.id()+"*")
}

// sweep removes what the attempts at a chunk have left. A file that this attempt has fetched itself has left nothing.
func (w *worker) sweep(
	c *chunk, attempts map[string]held, o *outcome,
) (err error) {
	for key := range attempts {
		for at, i := range c.Items {
			if key == c.id()+c.attempt && !c.inherits && o.done[at] != nil &&
				o.done[at].Complete > o.done[at].Before {
				continue
			}
			for _, name := range i.parts(part(key)) {
				_ = w.root.Remove(name) // usually there is none
			}
		}
		err = errors.Join(err, w.attempts.Purge(context.WithoutCancel(w.ctx), key))
	}
	return err
}

// each calls use with the results of a job in order, from position *from of the stream on, and moves *from behind the
// last one.
func (f *fleet) each(
	ctx context.Context, id string, from *uint64, headers bool,
	use func(uint64, tally, []byte) error,
) error {
	bounded, cancel := context.WithTimeout(ctx, 2*asking) // for these two, the library has no time-out of its own
	defer cancel()
	c, err := f.js.OrderedConsumer(bounded, f.named("RESULTS"), jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{f.subject("results", id, "*")}, HeadersOnly: headers,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(1, *from),
		InactiveThreshold: 4 * asking, // then the server forgets it: wait reads again and again
	})
	if err != nil {
		return err
	}
	info, err := c.Info(bounded)
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
			err = use(at.Sequence.Stream, t, msg.Data())
		}
		if err != nil {
			return err
		}
		left, *from = at.NumPending, at.Sequence.Stream+1
	}
	return nil
}

// sum adds up the results of a job so far.
type sum struct {
	tally
	results int
	retried []uint64 // positions in the stream where failed files were put back
	from    uint64   // the next position in the stream
}

// read adds the results that have arrived since the last call.
func (s *sum) read(ctx context.Context, f *fleet, id string) error {
	return f.each(ctx, id, &s.from, true, func(at uint64, t tally, _ []byte) error {
		if t.Retried > 0 {
			s.forget(t)
			s.retried = append(s.retried, at)
			s.Retried += t.Retried
		}
		s.Rest += t.Rest
		if t.Rest == 0 {
			s.join(t)
			s.results++
		}
		return nil
	})
}

// forget subtracts the failures that were put back.
func (s *sum) forget(t tally) {
	s.Ended -= t.Retried
	s.Failed -= t.Retried
	s.Code = 0
	if s.Failed > 0 {
		s.Code = exitOther // the code of those that cannot be retried
	}
	lost := fmt.Sprintf("%d ", exitOther)
	maps.DeleteFunc(s.By, func(by string, _ int64) bool {
		return s.Lost == 0 || !strings.HasPrefix(by, lost)
	})
}

// over reports whether the job has no more results to come.
func (s *sum) over(j job) bool {
	return j.State == "cancelled" || j.State != "adding" && s.results >= j.Chunks+s.Rest
}

// join adds a tally. Code is that of the first failure in the order of the results, which is the same for all readers.
func (t *tally) join(u tally) {
	t.Ended += u.Ended
	t.Complete += u.Complete
	t.Before += u.Before
	t.Failed += u.Failed
	t.Bytes += u.Bytes
	t.Lost += u.Lost
	if t.Code == 0 {
		t.Code = u.Code
	}
	for by, n := range u.By {
		if t.By == nil {
			t.By = make(map[string]int64)
		}
		t.By[by] += n
	}
}

// rows calls use with each row of a job, and its position in the stream.
func (f *fleet) rows(ctx context.Context, id string, use func(at uint64, s stored) error) error {
	return f.each(ctx, id, new(uint64), false, func(at uint64, _ tally, body []byte) error {
		if len(body) == 0 { // a split or a retry, not a result
			return nil
		}
		z, err := gzip.NewReader(bytes.NewReader(body))
		for d := json.NewDecoder(z); err == nil; {
			var s stored
			if err = d.Decode(&s); err == nil {
				err = use(at, s)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	})
}

// outcomes calls use with the last row of each file of a job that has an outcome. It leaves out failures that were put
// back.
func (f *fleet) outcomes(ctx context.Context, id string, use func(stored) error) error {
	t := new(sum)
	if err := t.read(ctx, f, id); err != nil {
		return err
	}
	retried := uint64(0)
	if n := len(t.retried); n > 0 {
		retried = t.retried[n-1]
	}
	return f.rows(ctx, id, func(at uint64, s stored) error {
		if s.Item != nil && at < retried {
			return nil
		}
		return use(s)
	})
}

// writeReport writes the rows of a job: the table of ftpfetch --report. With --failed it writes a list for add.
func writeReport(ctx context.Context, c *command, v view, j job) error {
	switch {
	case c.failed && c.output != "-":
		return usage("report --failed writes a list to standard output: leave -o out")
	case c.failed:
		return v.outcomes(ctx, j.ID, func(s stored) error {
			if s.Item == nil {
				return nil
			}
			return c.writeItem(s.Item)
		})
	}
	to, err := report.Create(c.output, "", c.out)
	if err != nil {
		return localfile.Failure(c.output, "cannot be written", err)
	}
	to.Buffer()
	err = v.outcomes(ctx, j.ID, func(s stored) error {
		return localfile.Failure("the report", "cannot be written", to.Write(s.Row))
	})
	return cmp.Or(err, localfile.Failure("the report", "cannot be written", to.Close()))
}
