// Package commands runs the user's command for each file, by sh. The commands can run in the care of a process that was
// started before this one confined itself, because a fence of Landlock holds all later children too.
package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"example.com/ftpfetch/internal/local/localfile"
)

// Error says how a command has failed.
type Error struct{ How string }

// Error returns how the command has failed: "the command ended with exit code 3".
func (e *Error) Error() string { return "the command " + e.How }

// order is what the keeper of the commands is told: to start one, or to send a signal to it.
type order struct {
	ID     int      `json:"id"`
	Script string   `json:"script,omitempty"`
	Path   []byte   `json:"path,omitempty"` // "$1"
	Env    []string `json:"env,omitempty"`  // added to the environment
	Signal int      `json:"signal,omitempty"`
}

// news is what the keeper tells about a command.
type news struct {
	ID    int    `json:"id"`
	Out   []byte `json:"out,omitempty"` // a line on its standard output
	Err   []byte `json:"err,omitempty"` // a line on its standard error
	Ended bool   `json:"ended,omitempty"`
	How   string `json:"how,omitempty"` // how it has failed; "" if it has succeeded
}

// Runner runs commands. It is safe for concurrent use.
type Runner struct {
	Script string // the command
	// Output and Errors get the lines that commands write, with their line ends. Their calls do not overlap. If Output
	// returns an error, the command gets SIGPIPE, as if it had written to a closed pipe.
	Output func(path string, line []byte) error
	Errors func(path string, line []byte)
	// Signal returns the signal for commands under way when a context ends with this cause.
	Signal func(cause error) syscall.Signal

	orders io.WriteCloser
	keeper *exec.Cmd // nil if it is a goroutine of this process

	mu      sync.Mutex
	last    int
	running map[int]*command
	idle    *sync.Cond
	gone    error // the keeper does not answer any more
}

// command is a command under way.
type command struct {
	path   string
	broken bool // it was told that nobody reads what it writes
	ended  chan error
}

// Start starts the keeper of the commands: the program with these arguments, which must call [Keep] with its standard
// input and output or, if args is nil, a goroutine.
func (r *Runner) Start(program string, args ...string) error {
	if _, err := exec.LookPath("sh"); err != nil {
		return &localfile.Error{Reason: "there is no sh in PATH, which runs the commands: install one", Err: err}
	}
	r.running = make(map[int]*command)
	r.idle = sync.NewCond(&r.mu)
	if args == nil {
		in, orders := io.Pipe()
		answers, out := io.Pipe()
		r.orders = orders
		go func() {
			Keep(in, out)
			out.Close()
		}()
		go r.listen(answers)
		return nil
	}
	r.keeper = exec.Command(program)
	r.keeper.Args = args
	r.keeper.Stderr = os.Stderr // for a panic
	orders, err := r.keeper.StdinPipe()
	var answers io.Reader
	if err == nil {
		answers, err = r.keeper.StdoutPipe()
	}
	if err == nil {
		err = r.keeper.Start()
	}
	if err != nil {
		return localfile.Failure("", "the process for the commands cannot be started", err)
	}
	r.orders = orders
	go r.listen(answers)
	return nil
}

// listen hands on what the keeper tells.
func (r *Runner) listen(answers io.Reader) {
	in := json.NewDecoder(answers)
	for {
		var n news
		err := in.Decode(&n)
		r.mu.Lock()
		if err != nil {
			r.gone = &localfile.Error{Reason: "the process that runs the commands has ended"}
			for id := range r.running {
				r.end(id, r.gone)
			}
			r.mu.Unlock()
			return
		}
		c := r.running[n.ID]
		r.mu.Unlock()
		switch {
		case c == nil: // it has ended
		case n.Out != nil:
			if err := r.Output(c.path, n.Out); err != nil && !c.broken {
				c.broken = true
				r.mu.Lock()
				r.send(order{ID: n.ID, Signal: int(syscall.SIGPIPE)})
				r.mu.Unlock()
			}
		case n.Err != nil:
			r.Errors(c.path, n.Err)
		case n.Ended:
			err = nil
			if n.How != "" {
				err = &Error{n.How}
			}
			r.mu.Lock()
			r.end(n.ID, err)
			r.mu.Unlock()
		}
	}
}

// end hands the result of a command to its caller, who holds r.mu.
func (r *Runner) end(id int, err error) {
	r.running[id].ended <- err
	delete(r.running, id)
	r.idle.Broadcast()
}

// Run runs the command with "$1" and more variables. When ctx ends, Run sends the command a signal and waits for it.
func (r *Runner) Run(ctx context.Context, path string, env []string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c := &command{path: path, ended: make(chan error, 1)}
	r.mu.Lock()
	r.last++
	id := r.last
	if r.gone != nil {
		r.mu.Unlock()
		return r.gone
	}
	r.running[id] = c
	r.send(order{ID: id, Script: r.Script, Path: []byte(path), Env: env})
	r.mu.Unlock()
	select {
	case err := <-c.ended:
		return err
	case <-ctx.Done():
	}
	r.mu.Lock()
	r.send(order{ID: id, Signal: int(r.Signal(context.Cause(ctx)))})
	r.mu.Unlock()
	if err := <-c.ended; err != nil {
		return fmt.Errorf("%w%.0w", context.Cause(ctx), err)
	}
	return nil
}

// send sends an order. If the keeper has ended, listen tells all callers.
func (r *Runner) send(o order) { _ = json.NewEncoder(r.orders).Encode(o) }

// Wait waits until no command is under way.
func (r *Runner) Wait() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.running) > 0 {
		r.idle.Wait()
	}
}

// Close ends the keeper. Commands that are still under way are told to end, and Close does not wait for them.
func (r *Runner) Close() {
	_ = r.orders.Close()
	r.mu.Lock()
	busy := len(r.running) > 0
	r.mu.Unlock()
	if r.keeper != nil && !busy {
		_ = r.keeper.Wait()
	}
}

// mostLine is how long a line may be before it is handed on in pieces.
const mostLine = 64 << 10
