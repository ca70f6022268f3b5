//go:build unix

package show

import (
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// The device names of the terminal that the process belongs to.
const consoleIn, consoleOut = "/dev/tty", "/dev/tty"

// movesCursor reports whether a terminal of this type understands the sequences
// that move the cursor.
func movesCursor(_ *os.File, kind string) bool { return kind != "" && kind != "dumb" }

// inBackground reports whether out is the terminal that the process belongs to,
// and another job has it.
func inBackground(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	own, _ := unix.Getpgid(0)
	return err == nil && group != own
}

// stops is what happens around a stop by Ctrl-Z. The runtime does not give up
// SIGTSTP again, so it is caught from the first use to the end of the process.
var stops struct {
	once   sync.Once
	mu     sync.Mutex
	around map[*stop]bool
}

// stop is what happens before and after the process stops.
type stop struct{ before, after func() }

// aroundStops makes the process call before when the user stops it (Ctrl-Z), and
// after when it goes on, until remove is called.
func aroundStops(before, after func()) (remove func()) {
	stops.once.Do(func() {
		stops.around = make(map[*stop]bool)
		if !signal.Ignored(syscall.SIGTSTP) {
			pressed := make(chan os.Signal, 1)
			signal.Notify(pressed, syscall.SIGTSTP)
			go func() {
				for range pressed {
					stopNow()
				}
			}()
		}
	})
	s := &stop{before, after}
	stops.mu.Lock()
	defer stops.mu.Unlock()
	stops.around[s] = true
	return func() {
		stops.mu.Lock()
		defer stops.mu.Unlock()
		delete(stops.around, s)
	}
}

// stopNow stops the process, with what happens around that.
func stopNow() {
	stops.mu.Lock()
	defer stops.mu.Unlock()
	for s := range stops.around {
		s.before()
	}
	suspend()
	for s := range stops.around {
		s.after()
	}
}
