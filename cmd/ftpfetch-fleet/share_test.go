package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"example.com/ftpfetch/download"
)

// TestShareLone checks that a lane keeps a lone file. Idle lanes would pass it on forever.
func TestShareLone(t *testing.T) {
	t.Parallel()
	w := newStand(t).worker("w")
	for _, files := range []int{1, 2} {
		c := &chunk{Job: "job", ID: fmt.Sprint(files), Host: "h", Items: make([]item, files)}
		o := &outcome{backlog: newBacklog(make([]download.Task, files))}
		for i := range o.backlog.left {
			o.backlog.left[i].Line = i + 1
		}
		if gives := w.share(c, o); gives != (files > 1) || len(c.given) != files*(files-1) {
			t.Errorf("of %d files that are not begun, %d are given away: %v", files, len(c.given), gives)
		}
	}
}

// TestClosedForGood checks that a worker ends when the library gives its connection up.
func TestClosedForGood(t *testing.T) {
	t.Parallel()
	w := newStand(t).worker("w")
	if w.endIfShutOut(); w.ctx.Err() != nil {
		t.Fatal(context.Cause(w.ctx))
	}
	w.Close()
	if w.endIfShutOut(); !errors.Is(context.Cause(w.ctx), nats.ErrConnectionClosed) {
		t.Errorf("the worker ends with %v", context.Cause(w.ctx))
	}
}
