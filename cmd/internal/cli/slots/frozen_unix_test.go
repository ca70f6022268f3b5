//go:build unix

package slots

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
)

// The stages at which the victim of [TestFrozen] stops, besides the moments before it locks a place or slot.
const writing, admitted, connected, closed, released = "writes held", "admitted", "connected", "closed", "released"

func init() { victim = suffer }

// suffer is a run that exits or signals itself at a stage. If it survives, it continues.
func suffer() {
	address, stage := os.Getenv("VICTIM"), os.Getenv("STAGE")
	var reached atomic.Bool
	reach := func(here string) {
		switch {
		case here != stage || reached.Swap(true):
		case os.Getenv("END") == "exit":
			os.Exit(0)
		default:
			signal, _ := strconv.Atoi(os.Getenv("END"))
			_ = syscall.Kill(os.Getpid(), syscall.Signal(signal))
			<-time.After(50 * time.Millisecond) // the other threads stop a moment later
		}
	}
	disk.Fault = func(call, path string) error {
		if call == "write" && strings.Contains(path, ".slot") {
			reach(writing)
		}
		if at := strings.LastIndex(path, "."); call == "flock" {
			reach(path[at:])
		}
		return nil
	}
	most, _ := strconv.Atoi(os.Getenv("MOST"))
	s := newShare(os.Getenv("DIR"), most)
	s.silence = short
	visit(context.Background(), s, address, reach)
	os.Exit(0)
}

// short is the value of silence in these tests.
const short = 500 * time.Millisecond

// visit waits for a slot, connects, and releases the slot.
func visit(ctx context.Context, s *share, address string, reach func(string)) {
	release, err := s.admit(ctx, address)
	if err != nil {
		panic(err)
	}
	reach(admitted)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		panic(err)
	}
	reach(connected)
	conn.Close()
	reach(closed)
	release()
	reach(released)
}

// counter is a server that counts its connections. When one arrives, it asks the kernel which others are open: on a
// busy machine, a goroutine that waits for their ends would notice them late.
type counter struct {
	net.Listener
	most atomic.Int32
}

func newCounter(t *testing.T) *counter {
	c := &counter{Listener: must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)}
	ended := make(chan struct{})
	t.Cleanup(func() {
		c.Close()
		<-ended
	})
	go func() {
		defer close(ended)
		var open []net.Conn
		for {
			conn, err := c.Accept()
			if err != nil {
				break
			}
			open = append(slices.DeleteFunc(open, hasEnded), conn)
			c.most.Store(max(c.most.Load(), int32(len(open))))
		}
		for _, conn := range open {
			conn.Close()
		}
	}()
	return c
}

// hasEnded reports whether the other side has closed conn. If so, it closes conn.
func hasEnded(conn net.Conn) (ended bool) {
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err == nil {
		err = raw.Read(func(fd uintptr) bool {
			n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
			ended = n == 0 && err == nil
			return true
		})
	}
	if ended = ended || err != nil; ended {
		conn.Close()
	}
	return ended
}

// TestFrozen stops, kills and ends a process at every stage of its wait and of its use of a slot. There are never more
// connections than slots. The other processes are served even while this one is stopped, unless it has the only slot.
// Then they say so, and are served when it continues.
func TestFrozen(t *testing.T) {
	t.Parallel()
	stages := []string{writing, admitted, connected, closed, released, ".slot1"}
	for at := range places {
		stages = append(stages, fmt.Sprint(".place", at+1))
	}
	cases, nth := 0, 0
	var all sync.WaitGroup
	defer all.Wait()
	at := make(chan struct{}, 16)
	for _, stage := range stages {
		for _, end := range []string{strconv.Itoa(int(syscall.SIGSTOP)), strconv.Itoa(int(syscall.SIGKILL)), "exit"} {
			for most := 1; most <= 2; most++ {
				if nth++; nth%night.Or(11, 1) != 0 {
					continue
				}
				cases++
				at <- struct{}{}
				all.Go(func() {
					freeze(t, stage, end, most)
					<-at
				})
			}
		}
	}
	t.Logf("%d cases", cases)
}

func freeze(t *testing.T, stage, end string, most int) {
	c := newCounter(t)
	address := c.Addr().String()
	cmd := exec.Command(must.Get(os.Executable())(t))
	s, holds := newShare(t.TempDir(), most), false
	s.silence = short
	cmd.Env = append(os.Environ(), "DIR="+s.dir, "VICTIM="+address, "STAGE="+stage, "END="+end, "MOST="+strconv.Itoa(most))
	must.Do(t, cmd.Start())
	var status syscall.WaitStatus
	must.Get(syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil))(t)
	awake := sync.OnceFunc(func() {
		if status.Stopped() {
			must.Do(t, cmd.Process.Signal(syscall.SIGCONT))
			must.Get(syscall.Wait4(cmd.Process.Pid, &status, 0, nil))(t)
		}
	})
	defer awake()
	s.say = func(text string) {
		if strings.Contains(text, fmt.Sprintf("process %d has one", cmd.Process.Pid)) || stage == writing && most == 1 { // its record does not name it yet
			holds = true
			awake()
		}
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() { visit(t.Context(), s, address, func(string) {}) })
	}
	all.Wait()
	has := stage == writing || stage == admitted || stage == connected || stage == closed
	if want := has && most == 1 && end == strconv.Itoa(int(syscall.SIGSTOP)); holds != want {
		t.Errorf("%s, %s, at most %d: the others waited for the process: %v, want %v", stage, end, most, holds, want)
	}
	awake()
	if end == strconv.Itoa(int(syscall.SIGSTOP)) && status.ExitStatus() != 0 {
		t.Errorf("%s, %s, at most %d: the process ended with %v", stage, end, most, status)
	}
	if int(c.most.Load()) > most {
		t.Errorf("%s, %s, at most %d: %d connections at once", stage, end, most, c.most.Load())
	}
	for range most {
		defer must.Get(s.admit(t.Context(), address))(t)()
	}
}
