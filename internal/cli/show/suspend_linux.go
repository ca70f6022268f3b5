package show

import (
	"runtime"

	"golang.org/x/sys/unix"
)

const getTermios, setTermios = unix.TCGETS, unix.TCSETS

// suspend stops the process and returns when it goes on. Where no shell could continue it the system ignores that, and
// suspend returns at once. The signal is SIGTTOU: the runtime does not give up SIGTSTP again, and SIGSTOP would stop a
// process without a shell for ever. It goes to this thread, which does nothing more before all have stopped.
func suspend() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGTTOU)
}
