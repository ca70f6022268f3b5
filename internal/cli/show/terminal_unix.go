//go:build unix

package show

import (
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

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

// stops has what happens before and after a stop by Ctrl-Z.
var stops struct {
	sync.Mutex
	once   sync.Once
	around [][2]func()
}

// aroundStops makes the process call before when the user stops it (Ctrl-Z), and after when it goes on, until remove
// is called. The runtime does not give up SIGTSTP again, so it is caught from the first call to the end of the process.
func aroundStops(before, after func()) (remove func()) {
	stops.once.Do(func() {
		if !signal.Ignored(syscall.SIGTSTP) {
			pressed := make(chan os.Signal, 1)
			signal.Notify(pressed, syscall.SIGTSTP)
			go stopWhen(pressed)
		}
	})
	stops.Lock()
	defer stops.Unlock()
	n := len(stops.around)
	stops.around = append(stops.around, [2]func(){before, after})
	return func() {
		stops.Lock()
		defer stops.Unlock()
		stops.around = stops.around[:min(n, len(stops.around))]
	}
}

// stopWhen stops the process whenever the keys are pressed. Where no shell could continue it the system ignores that.
// The signal is SIGTTOU: SIGTSTP is caught, and SIGSTOP would stop a process without a shell for ever.
func stopWhen(pressed <-chan os.Signal) {
	for range pressed {
		stops.Lock()
		for _, s := range stops.around {
			s[0]()
		}
		_ = unix.Kill(unix.Getpid(), unix.SIGTTOU)
		time.Sleep(50 * time.Millisecond) // until all threads have stopped: this one must do nothing more before that
		for _, s := range stops.around {
			s[1]()
		}
		stops.Unlock()
	}
}
