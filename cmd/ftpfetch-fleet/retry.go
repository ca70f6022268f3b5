package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/printable"
)

// listed is an entry of a list in NDJSON, as docs/manifests.md describes it.
type listed struct {
	URLs     []string `json:"urls"`
	Path     string   `json:"path"`
	Size     *int64   `json:"size,omitempty"`
	Checksum string   `json:"checksum,omitempty"`
}

// writeItem writes an entry of a list. JSON can hold only UTF-8.
func (c *command) writeItem(i *item) error {
	if i.Raw != nil {
		c.line("warning: the path %q is not UTF-8 and cannot be in the list: retry knows it", i.Raw)
		return nil
	}
	_, err := c.out.Write(printable.JSON(listed{i.URLs, i.Path, i.Size, i.Sum}))
	return err
}

// retryLanes is the number of lanes for which retry cuts chunks. It is constant, so that a retry that was killed and
// repeated cuts the same chunks.
const retryLanes = 8

// retryJob puts the failed files of a job back. It first records that they no longer count as failed, and only then
// sends the chunks: if it is interrupted, another retry sends them again.
func retryJob(ctx context.Context, c *command, f *fleet, j job) error {
	s := new(sum)
	if err := s.read(ctx, f, j.ID); err != nil {
		return err
	}
	n := len(s.retried)
	marks := append(append([]uint64{0}, s.retried...), math.MaxUint64)
	over := s.over(j)
	switch {
	case j.State != "ready":
		return usage("job %s is %s: add its list again", j.ID, j.State)
	case over && s.Failed == s.Lost:
		return usage("no file of job %s can be retried", j.ID)
	case !over && n == 0:
		return usage("job %s is not done: retry it then", j.ID)
	case !over: // the last retry may not have sent all
		n--
	}
	tasks, err := f.failures(ctx, j.ID, marks[n], marks[n+1])
	if err != nil {
		return err
	}
	prefix := fmt.Sprintf("r%d-", n+1)
	again := new(job)
	p, err := again.measure(tasks, retryLanes)
	if err != nil {
		return err
	}
	defer p.close()
	if over {
		err = f.recordRetry(ctx, j, p, again.Files, prefix)
	}
	if err == nil {
		_, err = f.sendAll(ctx, &j, p, prefix)
	}
	if err == nil {
		c.line("%s of job %s tried again", printable.Count(again.Files, "file is", "files are"), j.ID)
	}
	return err
}

func (f *fleet) recordRetry(ctx context.Context, j job, p *plan, files int64, prefix string) error {
	chunks := 0
	for _, err := range p.chunks(&j, prefix) {
		if err != nil {
			return err
		}
		chunks++
	}
	sum, _ := json.Marshal(tally{Retried: files, Rest: chunks})
	msg := &nats.Msg{
		Subject: f.subject("results", j.ID, strings.TrimSuffix(prefix, "-")),
		Header:  nats.Header{tallyHeader: {string(sum)}},
	}
	_, err := f.js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(0))
	if isWrongSequence(err) {
		return usage("job %s is retried already", j.ID)
	}
	return err
}

// failures returns the files that failed between two positions of the stream.
func (f *fleet) failures(
	ctx context.Context, id string, from, to uint64,
) (iter.Seq[download.Task], error) {
	var tasks []download.Task
	err := f.rows(ctx, id, func(at uint64, s stored) error {
		if s.Item == nil || at <= from || at >= to {
			return nil
		}
		m, err := s.Item.unpack()
		if err != nil {
			return usage("this program cannot read what add has sent, use one version of ftpfetch-fleet: %v", err)
		}
		tasks = append(tasks, download.TaskOf(m))
		return nil
	})
	return slices.Values(tasks), err
}
