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

// movesCursor reports whether a terminal of this type understands the sequences that move the cursor.
func movesCursor(_ *os.File, kind string) bool { return kind != "" && kind != "dumb" }

// inBackground reports whether out is the terminal that the process belongs to, and another job has it.
func inBackground(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	own, _ := unix.Getpgid(0)
	return err == nil && group != own
}

// readHidden reads a line from the terminal without echo. It returns io.EOF if the user types Ctrl-D instead, which
// term.ReadPassword ignores. While the process is stopped (Ctrl-Z) the echo is on, as the shell needs it; then
// readHidden asks again.
func readHidden(terminal *os.File, ask func()) (string, error) {
	fd := int(terminal.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return "", err
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	hidden.Lflag |= unix.ICANON | unix.ISIG
	hidden.Iflag |= unix.ICRNL
	show := func() { _ = unix.IoctlSetTermios(fd, setTermios, before) }
	defer show()
	defer aroundStops(show, func() {
		_ = unix.IoctlSetTermios(fd, setTermios, &hidden) // in the background this stops the process again
		ask()
	})()
	if err := unix.IoctlSetTermios(fd, setTermios, &hidden); err != nil {
		return "", err
	}
	return ReadLine(terminal)
}

// stops is what happens around a stop by Ctrl-Z. The runtime does not give up SIGTSTP again, so it is caught from the
// first use to the end of the process.
var stops struct {
	once   sync.Once
	mu     sync.Mutex
	around map[*[2]func()]bool // before and after
}

// aroundStops makes the process call before when the user stops it (Ctrl-Z), and after when it goes on, until remove
// is called.
func aroundStops(before, after func()) (remove func()) {
	stops.once.Do(func() {
		stops.around = make(map[*[2]func()]bool)
		if !signal.Ignored(syscall.SIGTSTP) {
			pressed := make(chan os.Signal, 1)
			signal.Notify(pressed, syscall.SIGTSTP)
			go stopWhen(pressed)
		}
	})
	key := &[2]func(){before, after}
	stops.mu.Lock()
	defer stops.mu.Unlock()
	stops.around[key] = true
	return func() {
		stops.mu.Lock()
		defer stops.mu.Unlock()
		delete(stops.around, key)
	}
}

// stopWhen stops the process whenever the keys are pressed, with what happens around that.
func stopWhen(pressed <-chan os.Signal) {
	for range pressed {
		stops.mu.Lock()
		for s := range stops.around {
			s[0]()
		}
		suspend()
		for s := range stops.around {
			s[1]()
		}
		stops.mu.Unlock()
	}
}
