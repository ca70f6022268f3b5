//go:build linux

package interop

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// group is a process group with a leash: a shell that leads the group, reads a pipe whose other end this process holds,
// and kills the whole group when the pipe closes. So no server outlives the tests, however they end.
type group struct {
	leash  *exec.Cmd
	pull   io.Closer     // closing it pulls the leash
	log    *os.File      // standard output and error of every process
	exited chan struct{} // closed when the process that listens has ended

	mu   sync.Mutex // held while the group grows or closes
	pids []int
	done bool
	wait sync.WaitGroup // the processes not reaped yet
}

func newGroup(logPath string) (*group, error) {
	log, err := os.Create(logPath)
	if err != nil {
		return nil, err
	}
	g := &group{log: log, exited: make(chan struct{})}
	g.leash = exec.Command("/bin/sh", "-c", "read line; kill -KILL 0")
	g.leash.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if g.pull, err = g.leash.StdinPipe(); err == nil {
		err = g.leash.Start()
	}
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return g, nil
}

// start runs p in the group. If socket is not nil, it becomes p's standard input and output. Otherwise p is the only
// program of the group, and listens. The caller must close socket.
func (g *group) start(p program, socket *os.File) error {
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Env, cmd.Dir = p.env, cmp.Or(p.dir, "/")
	cmd.Stdout, cmd.Stderr = g.log, g.log
	if socket != nil {
		cmd.Stdin, cmd.Stdout = socket, socket
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.leash.Process.Pid}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done {
		return os.ErrClosed
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	g.pids = append(g.pids, cmd.Process.Pid)
	g.wait.Go(func() {
		cmd.Wait() // the group kills the servers: their status says nothing
		if socket == nil {
			close(g.exited)
		}
	})
	return nil
}

// close kills the group, and the processes that its servers have put into other groups. It waits for the processes that
// it started.
func (g *group) close() error {
	g.mu.Lock()
	g.done = true
	strays := descendants(g.pids)
	g.mu.Unlock()
	g.pull.Close()
	g.leash.Wait()
	g.wait.Wait()
	for _, pid := range strays {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	return g.log.Close()
}

// descendants returns the current descendants of the given processes. The group does not contain all of them: vsftpd
// makes every session the leader of its own process group.
func descendants(pids []int) (all []int) {
	for _, pid := range pids {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is well formed
		for _, list := range lists {
			text, _ := os.ReadFile(list) // the process may have ended in the meantime
			for _, child := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(child); err == nil {
					all = append(all, pid)
					all = append(all, descendants([]int{pid})...)
				}
			}
		}
	}
	return all
}
