package cli

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"example.com/ftpfetch/internal/cli/config"
)

// What the fence allows below a directory.
const (
	toRead  landlock.AccessFSSet = ll.AccessFSReadFile | ll.AccessFSReadDir
	toWrite                      = toRead | toFile | ll.AccessFSMakeReg | ll.AccessFSMakeDir |
		ll.AccessFSRemoveFile | ll.AccessFSRemoveDir | ll.AccessFSRefer
	toFile landlock.AccessFSSet = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate // also to a file itself
)

// needed holds where the resolver, crypto/x509 and package time look while the
// program runs. In /etc files are replaced, so a rule for each file would not
// do; /lib and /usr hold the modules of the C library, /nix and /gnu what the
// links in /etc lead to.
var needed = []string{"/etc", "/lib", "/lib64", "/usr", "/var/lib/ca-certificates", "/nix/store", "/gnu/store"}

// fence lets the process write only where this run writes, and read only its
// lists and what it needs to connect, as far as the kernel has Landlock. All
// other files must have been read before.
func (r *run) fence(ctx context.Context) {
	if !r.confined || r.NoSandbox || r.DryRun || runtime.GOOS != "linux" {
		return
	}
	ctx, cancel := r.limit(ctx, r.MaxTime) // the note may have no reader
	defer cancel()
	_, _ = await(ctx, r.logins.netrc) // an error concerns only a URL that needs the file
	f := new(fence)
	f.allow(toRead, needed...)
	f.allow(toRead, os.Getenv("SSL_CERT_FILE"))
	f.allow(toRead, filepath.SplitList(os.Getenv("SSL_CERT_DIR"))...)
	if conf, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil {
		f.allow(toRead, filepath.Dir(conf))
	}
	for _, l := range r.lists {
		if l.temp == nil {
			f.allow(toRead, l.path)
		}
	}
	f.device("/dev/tty")
	f.device("/proc/self/fd/1") // reopened if it is a FIFO
	if n := len(r.made); n > 0 {
		f.allow(ll.AccessFSRemoveDir, filepath.Dir(r.made[n-1]))
	}
	dirs := r.writes(f)
	f.allow(toWrite, dirs...)
	r.print.Note(f.close(dirs), false)
}

// writes returns the directories that the run writes to, and allows the device
// or FIFO of -o.
func (r *run) writes(f *fence) (dirs []string) {
	file := func(t config.Target) bool { return t.Err == nil && !t.URL.IsDir() && !r.Long }
	switch {
	case r.Info, r.Output == "-":
	case r.Output != "":
		path := filepath.Join(r.Dir, r.Output)
		f.device(path)
		dirs = append(dirs, filepath.Dir(path))
	case r.Many, slices.ContainsFunc(r.Targets, file):
		dirs = append(dirs, cmp.Or(r.Dir, "."))
	}
	if r.Report != "" {
		dirs = append(dirs, filepath.Dir(r.Report))
	}
	return dirs
}

// fence is what the process may still do.
type fence struct{ rules []landlock.Rule }

// allow allows access to what is below paths, as far as they exist. Of a file it
// allows what can be done to a file.
func (f *fence) allow(access landlock.AccessFSSet, paths ...string) {
	for _, path := range paths {
		switch info, err := os.Stat(path); {
		case err != nil:
		case info.IsDir():
			f.rules = append(f.rules, landlock.PathAccess(access, path).IgnoreIfMissing())
		default:
			f.rules = append(f.rules, landlock.PathAccess(access&toFile, path).IgnoreIfMissing())
		}
	}
}

// device allows writing to a device or FIFO. Pipes without a name need no rule.
func (f *fence) device(path string) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		f.allow(toFile, path)
	}
}

// close puts the fence around the process and says what it is.
func (f *fence) close(dirs []string) string {
	if version, err := ll.LandlockGetABIVersion(); err != nil || version < 2 {
		return "not fenced: the kernel has no Landlock, or an old one"
	}
	if err := landlock.V3.BestEffort().RestrictPaths(f.rules...); err != nil {
		return "not fenced: " + err.Error()
	}
	if len(dirs) == 0 {
		return "fenced: this process can write no file"
	}
	return "fenced: this process can write only below " + strings.Join(dirs, " and ")
}
