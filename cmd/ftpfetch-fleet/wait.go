package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"example.com/ftpfetch/cmd/internal/cli/show"
	"example.com/ftpfetch/internal/printable"
)

// waitFor shows the progress of a job until it is over. The exit code is that of its first failure, the same for
// everyone who waits.
func waitFor(ctx context.Context, c *command, v view, j job) error {
	s, err := follow(ctx, v, j.ID, newTicker(c).tick)
	if err == nil {
		err = c.say(s)
	}
	switch {
	case err != nil:
		return err
	case s.Code != 0:
		return exit(s.Code)
	case s.Complete != s.Files || s.State != "done":
		return exit(exitOther)
	}
	return nil
}

// exitOther is the exit code of ftpfetch for errors without a code of their own.
const exitOther = 43

// follow reads the state of a job, ten times a second at first and later every second or less often, and returns the
// last one. It continues after errors, because the server may be restarting, unless it refuses the token.
func follow(ctx context.Context, v view, id string, tick func(*state)) (*state, error) {
	var pause time.Duration
	started := time.Now()
	for sums := make(map[string]*sum); ; wait(ctx, pause) {
		begun := time.Now()
		bounded, cancel := context.WithTimeout(ctx, 4*asking)
		j, err := find(bounded, v, id)
		var now []*state
		if err == nil {
			now, err = v.states(bounded, []job{j}, sums)
		}
		cancel()
		pause = min(max(time.Second/10, time.Since(started)/10), time.Second) // the end of a short job is seen soon
		pause = min(pause+5*time.Since(begun), asking)                        // to spare the server of a large fleet
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if errors.Is(err, nats.ErrAuthorization) {
			return nil, err
		}
		if err != nil {
			continue
		}
		tick(now[0])
		if now[0].settled() {
			return now[0], nil
		}
	}
}

// ticker shows states on standard error as ftpfetch shows its runs.
type ticker struct {
	c     *command
	mode  show.Mode
	shown time.Time
}

func newTicker(c *command) *ticker {
	t := &ticker{c: c, mode: show.Mode(c.progress), shown: time.Now()}
	if t.mode == show.Auto && show.IsTerminal(c.err) {
		t.mode = show.Bar
	}
	return t
}

func (t *ticker) tick(s *state) {
	switch now := time.Now(); {
	case t.mode == show.JSON:
		_, _ = t.c.err.Write(printable.JSON(s))
	case t.mode == show.Bar && s.over():
		fmt.Fprint(t.c.err, "\r\x1b[K")
	case t.mode == show.Bar:
		fmt.Fprintf(t.c.err, "\r%.*s\x1b[K", 160, s.text())
	case t.mode != show.None && now.Sub(t.shown) >= time.Minute && !s.over():
		fmt.Fprintln(t.c.err, s.text())
		t.shown = now
	}
}
