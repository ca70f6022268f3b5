//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// childError is the exit code of the process inside the namespaces, which has
// reported its error itself.
type childError struct{ code int }

func (e *childError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// outside prepares what needs the machine's own network and files (the build
// of ftpfetch) and then starts this program again inside new namespaces.
func outside(ctx context.Context, s *settings, args []string, stdout, stderr io.Writer) error {
	if _, _, err := findServer(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "ftpfetch-latency-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// The server's unprivileged processes read it.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	if err := provideFtpfetch(ctx, s, dir); err != nil {
		fmt.Fprintf(stderr, "latency: ftpfetch will be missing: %v\n", err)
	}
	return reexec(ctx, append([]string{"-inside", dir}, args...), stdout, stderr)
}

// provideFtpfetch puts the ftpfetch binary to be measured into dir/bin.
func provideFtpfetch(ctx context.Context, s *settings, dir string) error {
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	target := filepath.Join(bin, "ftpfetch")
	if s.ftpfetch != "" {
		path, err := filepath.Abs(s.ftpfetch)
		if err != nil {
			return err
		}
		return os.Symlink(path, target)
	}
	return build(ctx, target)
}

func build(ctx context.Context, target string) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("the module of this program is unknown")
	}
	out, err := exec.CommandContext(ctx, "go", "build", "-o", target, info.Main.Path+"/cmd/ftpfetch").CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}

// reexec runs this program again with args in namespaces of its own. The new
// process is the first of its process namespace and dies with this one, so that
// the kernel ends every server and client with it, whatever happens.
func reexec(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// The parent that Pdeathsig watches is the thread, not the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// What is measured, servers included, runs before the machine's other work,
	// if that is allowed. The new process inherits the priority of this thread.
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -10)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	cmd.SysProcAttr = attributes()
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return &childError{code: exit.ExitCode()}
	}
	if err != nil {
		return fmt.Errorf("starting inside new namespaces: %w", err)
	}
	return nil
}

func attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	if os.Geteuid() != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return a
}
