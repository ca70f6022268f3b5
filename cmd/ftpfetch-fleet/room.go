package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"example.com/ftpfetch/internal/printable"
)

// room is how much of its disk the server has.
type room struct {
	Dir  string `json:"dir"`
	Size int64  `json:"size"` // bytes of STATE
	Free int64  `json:"free"` // bytes; -1: unknown
	Full bool   `json:"full"` // no list is taken
}

// leastFree is how many bytes must be free for a list to be added. What runs needs some of them until it has ended.
const leastFree = 64 << 20

// errNoRoom means that the disk of the server is full.
var errNoRoom = errors.New("the disk of the server is full")

func (r *room) err() error {
	if r == nil || !r.Full {
		return nil
	}
	return fmt.Errorf("%w: %s are free in %s: make room there", errNoRoom, printable.Size(float64(r.Free)), r.Dir)
}

// roomIn measures a directory. It needs some time for the size, and takes that of the last room if there is one.
func roomIn(dir string, last *room) *room {
	r := &room{Dir: dir, Free: freeIn(dir)}
	r.Full = r.Free >= 0 && r.Free < leastFree
	if last != nil {
		r.Size = last.Size
		return r
	}
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error { // files come and go meanwhile
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				r.Size += info.Size()
			}
		}
		return nil
	})
	return r
}

// room asks the server how much room it has. An existing NATS does not tell.
func (f *fleet) room(ctx context.Context) *room {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	m, err := f.RequestWithContext(ctx, f.subject("room"), nil)
	r := new(room)
	if err != nil || json.Unmarshal(m.Data, r) != nil {
		return nil
	}
	return r
}

// whileRoom returns a context that ends when the server has no room any more.
func (f *fleet) whileRoom(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		for wait(ctx, time.Second) {
			if err := f.room(ctx).err(); err != nil {
				end(err)
			}
		}
	}()
	return ctx, end
}

// measure keeps up to date what the server tells of its room. After the disk was full, it starts JetStream again,
// because a stream that could once not write refuses everything from then on.
func (h *hub) measure(ctx context.Context, line func(string, ...any)) error {
	h.room.Store(roomIn(h.dir, nil))
	_, err := h.board.f.Subscribe(h.space.subject("room"), func(m *nats.Msg) {
		text, _ := json.Marshal(h.room.Load())
		_ = m.Respond(text)
	})
	go func() {
		defer close(h.measured)
		for n := 1; wait(ctx, time.Second); n++ {
			was := h.room.Load()
			now := roomIn(h.dir, was)
			if n%15 == 0 {
				now = roomIn(h.dir, nil)
			}
			if was.Full && !now.Full {
				if err := h.renew(); err != nil { // the next round tries again
					line("there is room in %s again, but JetStream does not start: %v", now.Dir, err)
					now.Full = true
				} else {
					line("there is room in %s again", now.Dir)
				}
			} else if now.Full && !was.Full {
				line("%v", now.err())
			}
			h.room.Store(now)
		}
	}()
	return err
}

// renew starts JetStream again. Connections stay. ReloadOptions would do so too, but would hide a failure, and refuse
// logins for a moment.
func (h *hub) renew() error {
	if err := h.ShutdownJetStream(); err != nil {
		return err
	}
	return h.EnableJetStream(&server.JetStreamConfig{
		StoreDir: h.dir, MaxMemory: mostMemory, MaxStore: mostStored, SyncInterval: syncing, Strict: true,
	})
}
