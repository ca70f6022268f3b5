package commands

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// lingers is how long the output of a command is read after it has ended: a process that it has left behind may keep it
// open. A test changes it.
var lingers = time.Second

// keeper starts commands and watches them.
type keeper struct {
	mu      sync.Mutex
	out     *json.Encoder
	running map[int]*exec.Cmd
	over    sync.WaitGroup
}

// Keep obeys the orders from in, and tells on out how the commands fare, until in ends. Then, or if nobody hears, it
// tells the commands under way to end (SIGTERM), and waits for them.
func Keep(in io.Reader, out io.Writer) {
	k := &keeper{out: json.NewEncoder(out), running: make(map[int]*exec.Cmd)}
	orders := json.NewDecoder(in)
	for {
		var o order
		if orders.Decode(&o) != nil {
			break
		}
		if o.Signal != 0 {
			k.signal(o.ID, syscall.Signal(o.Signal))
		} else {
			k.start(o)
		}
	}
	k.mu.Lock()
	for _, cmd := range k.running {
		end(cmd.Process, syscall.SIGTERM)
	}
	k.mu.Unlock()
	k.over.Wait()
}

// tell tells the other process something. If it has ended, so do the orders.
func (k *keeper) tell(n news) {
	k.mu.Lock()
	defer k.mu.Unlock()
	_ = k.out.Encode(n)
}

// signal sends a signal to a command and to all that it has started.
func (k *keeper) signal(id int, s syscall.Signal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if cmd := k.running[id]; cmd != nil {
		end(cmd.Process, s)
	}
}

// start starts a command. Its standard input is empty, and it has a session of its own, where the system has such:
// no command can wait for the terminal.
func (k *keeper) start(o order) {
	cmd := exec.Command("sh", "-c", o.Script, "sh", string(o.Path))
	cmd.Env = append(os.Environ(), o.Env...)
	out := &lines{tell: func(line []byte) { k.tell(news{ID: o.ID, Out: line}) }}
	err := &lines{tell: func(line []byte) { k.tell(news{ID: o.ID, Err: line}) }}
	cmd.Stdout = out
	cmd.Stderr = err
	cmd.WaitDelay = lingers
	apart(cmd)
	if err := cmd.Start(); err != nil {
		k.tell(news{ID: o.ID, Ended: true, How: "cannot be started: " + err.Error()})
		return
	}
	k.mu.Lock()
	k.running[o.ID] = cmd
	k.mu.Unlock()
	k.over.Go(func() {
		failed := cmd.Wait()
		k.mu.Lock()
		delete(k.running, o.ID) // its number may soon be that of another process
		k.mu.Unlock()
		out.end()
		err.end()
		k.tell(news{ID: o.ID, Ended: true, How: how(cmd, failed)})
	})
}

// how returns how a command has failed, or "".
func how(cmd *exec.Cmd, err error) string {
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return ""
	case cmd.ProcessState == nil:
		return "was lost: " + err.Error()
	case cmd.ProcessState.ExitCode() >= 0:
		return fmt.Sprintf("ended with exit code %d", cmd.ProcessState.ExitCode())
	}
	return "was ended by " + signalName(cmd.ProcessState)
}

// lines is a writer that hands on whole lines.
type lines struct {
	tell func(line []byte)
	rest []byte
}

func (l *lines) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		n := bytes.IndexByte(l.rest, '\n') + 1
		if n == 0 && len(l.rest) >= mostLine {
			n = mostLine
		}
		if n == 0 {
			return len(b), nil
		}
		l.tell(l.rest[:n])
		l.rest = l.rest[n:]
	}
}

// end hands on the last line, which has no end.
func (l *lines) end() {
	if len(l.rest) > 0 {
		l.tell(l.rest)
	}
}
