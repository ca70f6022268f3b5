//go:build unix

package commands

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// apart gives a command a session of its own. So it has no terminal that it could wait for, and all that it starts can
// be told to end.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// end sends a signal to a command and to all that it has started.
func end(p *os.Process, s syscall.Signal) { _ = syscall.Kill(-p.Pid, s) }

func signalName(state *os.ProcessState) string {
	status, _ := state.Sys().(syscall.WaitStatus)
	return unix.SignalName(status.Signal())
}

// Survive makes the keeper outlast signals that are meant for the process that it works for: it ends with its orders.
// Commands get all signals as usual, except those that were ignored from the start (nohup).
func Survive() {
	caught := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			signal.Notify(caught, s)
		}
	}
	signal.Notify(caught, syscall.SIGPIPE) // a caught signal is not ignored by the commands
}
