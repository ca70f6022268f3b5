//go:build linux

package lab

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

// Program is a benchmark.
type Program struct {
	Name           string
	Stdout, Stderr io.Writer
}

// childError is the exit code of the process inside the namespaces, which has
// reported its error itself.
type childError struct{ code int }

func (e *childError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// exitCode returns the benchmark's exit code. It reports err, unless the process
// inside has said what was wrong.
func (p Program) exitCode(ctx context.Context, err error) int {
	var child *childError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &child):
		return child.code
	case ctx.Err() != nil:
		fmt.Fprintln(p.Stderr, p.Name+": interrupted")
		return 130
	}
	fmt.Fprintln(p.Stderr, p.Name+":", err)
	return 1
}

// outside prepares what needs the machine's own network and files (the build of
// ftpfetch) and then starts this program again inside new namespaces, with args
// after its name and "-inside DIR", a new directory.
func (p Program) outside(ctx context.Context, ftpfetch string, args []string) error {
	if _, _, err := findServer(vsftpdFile); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "ftpfetch-"+p.Name+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// The server's unprivileged processes read it.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	if err := provideFtpfetch(ctx, ftpfetch, dir); err != nil {
		fmt.Fprintf(p.Stderr, "%s: ftpfetch will be missing: %v\n", p.Name, err)
	}
	return p.reexec(ctx, append([]string{p.Name, "-inside", dir}, args...))
}

// Enter makes the process inside the namespaces ready: its mounts are its own,
// and it finds ftpfetch in dir.
func Enter(dir string) error {
	if err := privateMounts(); err != nil {
		return err
	}
	return os.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
}

// provideFtpfetch puts the ftpfetch binary to be measured into dir/bin: the given one, or a new one for "".
func provideFtpfetch(ctx context.Context, ftpfetch, dir string) error {
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	target := filepath.Join(bin, "ftpfetch")
	if ftpfetch != "" {
		path, err := filepath.Abs(ftpfetch)
		if err != nil {
			return err
		}
		return os.Symlink(path, target)
	}
	return build(ctx, target)
}

// build builds ftpfetch as it is released: without cgo.
func build(ctx context.Context, target string) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("the module of this program is unknown")
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", target, info.Main.Path+"/cmd/ftpfetch")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}

// reexec runs this program again with args in namespaces of its own. The new
// process is the first of its process namespace and dies with this one, so that
// the kernel ends every server and client with it, whatever happens.
func (p Program) reexec(ctx context.Context, args []string) error {
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
	cmd.Stdout, cmd.Stderr = p.Stdout, p.Stderr
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

// Allowed returns an error if this system does not let the program make namespaces.
func Allowed() error {
	cmd := exec.Command("true")
	cmd.SysProcAttr = attributes()
	return cmd.Run()
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

// privateMounts keeps this process's mounts private. It mounts /proc again for
// the new process namespace, unless a container forbids it.
func privateMounts() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	_ = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	return nil
}
