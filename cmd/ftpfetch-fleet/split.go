package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Headers of the records of a chunk: who wrote the record, and what was given away.
const (
	byHeader    = "Fleet-By"
	splitHeader = "Fleet-Split"
)

// chain is the sequence of records of a chunk, under its subject in the results: any number of splits, then its result.
// A writer must know the end of the chain. So a worker that was frozen cannot add a result for files that its chunk has
// given away since.
type chain struct {
	end    uint64       // sequence number of the last record; 0: none
	given  map[int]bool // the items that now belong to other chunks
	unsent []piece      // pieces of the last split that may not be in the queue
}

// piece is a part of a chunk that becomes a chunk itself.
type piece struct {
	Items []int    `json:"items"` // their indexes in the chunk
	Not   []string `json:"not,omitempty"`
}

// split is the record of a split.
type split struct {
	Given  []int   `json:"given"` // by all splits of the chunk so far
	Pieces []piece `json:"pieces"`
}

// resultsOf is the subject of the records of a chunk.
func (f *fleet) resultsOf(c *chunk) string { return f.subject("results", c.Job, c.ID) }

// known reports whether a chunk has a result. If not, it removes from the chunk what the chunk has given away.
func (w *worker) known(c *chunk) (bool, error) {
	ctx, cancel := context.WithTimeout(w.ctx, asking)
	defer cancel()
	last, err := w.results.GetLastMsgForSubject(ctx, w.resultsOf(c))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	if err != nil || last.Header.Get(splitHeader) == "" {
		return err == nil, err
	}
	var s split
	if err = json.Unmarshal([]byte(last.Header.Get(splitHeader)), &s); err != nil {
		return false, err
	}
	c.end = last.Sequence
	c.give(s)
	return false, nil
}

func (c *chunk) give(s split) {
	c.given = make(map[int]bool)
	for _, at := range s.Given {
		c.given[at] = true
	}
	c.unsent = s.Pieces
}

// split makes chunks from pieces of a chunk. It reports whether the chunk has given them away.
func (w *worker) split(c *chunk, pieces []piece) bool {
	if !w.sendPieces(c) {
		return false
	}
	var s split
	for at := range c.given {
		s.Given = append(s.Given, at)
	}
	for _, p := range pieces {
		s.Given = append(s.Given, p.Items...)
	}
	s.Pieces = pieces
	slices.Sort(s.Given)
	text, _ := json.Marshal(s)
	sum, _ := json.Marshal(tally{Rest: len(pieces)})
	header := nats.Header{tallyHeader: {string(sum)}, splitHeader: {string(text)}}
	if !w.record(c, &nats.Msg{Header: header}) {
		return false
	}
	c.give(s)
	w.sendPieces(c) // if that fails, finish tries again before the chunk gets its result
	return true
}

// sendPieces sends the pieces that may not have been sent. If a chunk is sent twice, it still gets only one result.
func (w *worker) sendPieces(c *chunk) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), asking)
	defer cancel()
	for len(c.unsent) > 0 {
		p := c.unsent[0]
		id := c.ID + "-" + strconv.Itoa(p.Items[0]+1)
		child := &chunk{Job: c.Job, ID: id, Host: c.Host, Terms: c.Terms, Not: p.Not}
		for _, at := range p.Items {
			if at < 0 || at >= len(c.Items) {
				return false
			}
			child.Items = append(child.Items, c.Items[at])
		}
		if w.send(ctx, child) != nil {
			return false
		}
		c.unsent = c.unsent[1:]
	}
	return true
}

// record adds a record to the chain of a chunk. It does not end with the slot, but with the worker, after a few more
// tries. It reports whether the record, or another attempt's result, is in the chain.
func (w *worker) record(c *chunk, msg *nats.Msg) bool {
	me := rand.Text()
	msg.Subject = w.resultsOf(c)
	msg.Header.Set(byHeader, me)
	for ended := 0; ended < 3; { // tries after the worker was told to end
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), asking)
		added, err := w.js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(c.end))
		if err == nil {
			c.end = added.Sequence
		} else if isWrongSequence(err) { // another attempt was first, or the answer to an earlier try was lost
			var last *jetstream.RawStreamMsg
			if last, err = w.results.GetLastMsgForSubject(ctx, w.resultsOf(c)); err == nil {
				mine := last.Header.Get(byHeader) == me
				if mine {
					c.end = last.Sequence
				}
				cancel()
				return mine || last.Header.Get(splitHeader)+msg.Header.Get(splitHeader) == "" // both are results
			}
		}
		cancel()
		if err == nil {
			return true
		}
		if w.ctx.Err() != nil {
			ended++
		}
		if full := w.room(context.WithoutCancel(w.ctx)).err(); full != nil {
			w.line("%v", full)
		}
		wait(context.WithoutCancel(w.ctx), time.Second/2)
	}
	return false
}

func isWrongSequence(err error) bool {
	bad, ok := errors.AsType[*jetstream.APIError](err)
	return ok && bad.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}

// mostPieces is the number of chunks that the rest of a chunk becomes for idle lanes.
const mostPieces = 16

// share gives the files that the lane has not begun to idle lanes. It reports whether there were any. It keeps a lone
// file: lanes that are idle would pass it on forever, each before it had begun.
func (w *worker) share(c *chunk, o *outcome) bool {
	o.sharing.Lock()
	defer o.sharing.Unlock()
	if o.shut || len(c.Items) == 1 {
		return false
	}
	rest := o.backlog.take()
	if len(rest) == 0 {
		return false
	}
	var pieces []piece
	for some := range slices.Chunk(rest, (len(rest)+mostPieces-1)/mostPieces) {
		pieces = append(pieces, piece{Items: some, Not: c.Not})
	}
	w.split(c, pieces) // if that fails, the files are left for this lane's next try
	return true
}
