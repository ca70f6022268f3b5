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
	"example.com/ftpfetch/internal/cli/show"
)

// What the fence allows below a directory.
const (
	toRead  landlock.AccessFSSet = ll.AccessFSReadFile | ll.AccessFSReadDir
	toWrite                      = toRead | toFile | ll.AccessFSMakeReg | ll.AccessFSMakeDir |
		ll.AccessFSRemoveFile | ll.AccessFSRemoveDir | ll.AccessFSRefer
	toFile landlock.AccessFSSet = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate // also to a file itself
)

// needed holds where the resolver, crypto/x509 and package time look while the program runs. In /etc files are replaced,
// so a rule for each file would not do; /lib and /usr hold the modules of the C library, /nix and /gnu what the links in
// /etc lead to.
var needed = []string{"/etc", "/lib", "/lib64", "/usr", "/var/lib/ca-certificates", "/nix/store", "/gnu/store"}

// fence lets the process write only where this run writes, and read only what it needs to connect, as far as the kernel
// has Landlock. All other files must have been read or opened before.
func (r *run) fence(ctx context.Context) {
	if !r.Confine || r.NoSandbox || r.DryRun || runtime.GOOS != "linux" {
		return
	}
	_, cancel := r.limit(ctx, r.MaxTime) // the note may have no reader
	defer cancel()
	var rules []landlock.Rule
	allow := func(access landlock.AccessFSSet, paths ...string) { // as far as they exist
		for _, path := range paths {
			switch info, err := os.Stat(path); {
			case err != nil:
			case info.IsDir():
				rules = append(rules, landlock.PathAccess(access, path).IgnoreIfMissing())
			default:
				rules = append(rules, landlock.PathAccess(access&toFile, path).IgnoreIfMissing())
			}
		}
	}
	allow(toRead, needed...)
	allow(toRead, os.Getenv("SSL_CERT_FILE"))
	allow(toRead, filepath.SplitList(os.Getenv("SSL_CERT_DIR"))...)
	if conf, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil {
		allow(toRead, filepath.Dir(conf))
	}
	// Devices and FIFOs, of which the second is reopened. Pipes without a name need no rule.
	for _, path := range []string{"/dev/tty", "/proc/self/fd/1", filepath.Join(r.Dir, r.Output)} {
		path, err := filepath.EvalSymlinks(path)
		if info, serr := os.Stat(path); err == nil && serr == nil && !info.IsDir() && !info.Mode().IsRegular() {
			allow(toFile, path)
		}
	}
	if n := len(r.made); n > 0 {
		allow(ll.AccessFSRemoveDir, filepath.Dir(r.made[n-1]))
	}
	dirs := r.writes()
	allow(toWrite, dirs...)
	note := "fenced: this process can write no file"
	if len(dirs) > 0 {
		note = "fenced: this process can write only below " + strings.Join(dirs, " and ")
	}
	if version, err := ll.LandlockGetABIVersion(); err != nil || version < 2 {
		note = "not fenced: the kernel has no Landlock, or an old one"
	} else if err := landlock.V3.BestEffort().RestrictPaths(rules...); err != nil {
		note = "not fenced: " + err.Error()
	}
	r.print.Note(show.Detail, "", note)
}

// writes returns the directories that the run writes to.
func (r *run) writes() (dirs []string) {
	file := func(t config.Target) bool { return t.Err == nil && !t.URL.IsDir() && !r.Long }
	switch {
	case r.Info, r.Output == "-":
	case r.Output != "":
		dirs = append(dirs, filepath.Dir(filepath.Join(r.Dir, r.Output)))
	case r.Many, slices.ContainsFunc(r.Targets, file):
		dirs = append(dirs, cmp.Or(r.Dir, "."))
	}
	if r.Report != "" {
		dirs = append(dirs, filepath.Dir(r.Report))
	}
	return dirs
}
