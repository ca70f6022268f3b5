// Package fence restricts what a process can write, and limits what it can read to what it needs to connect. It uses
// Landlock on Linux, and does nothing on other systems.
package fence

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// These are the rights that the fence grants below a directory.
const (
	toRead  landlock.AccessFSSet = ll.AccessFSReadFile | ll.AccessFSReadDir
	toWrite                      = toRead | toFile | ll.AccessFSMakeReg | ll.AccessFSMakeDir |
		ll.AccessFSRemoveFile | ll.AccessFSRemoveDir | ll.AccessFSRefer
	// toFile is also granted on a single file.
	toFile landlock.AccessFSSet = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
)

// needed are the directories that the resolver, crypto/x509 and package time read while the program runs, and the file
// that package disk reads. Files in /etc may be replaced, so rules for single files would not suffice. The modules of
// the C library are in /lib and /usr, and links in /etc lead to /nix and /gnu.
var needed = []string{
	"/etc", "/lib", "/lib64", "/usr", "/var/lib/ca-certificates", "/nix/store", "/gnu/store", "/proc/meminfo",
}

// Confine fences the process. From then on the process can write below dirs, write to the devices and FIFOs among
// files, and remove directories in parents. Other files that it reads must be open already. Confine returns a note
// about the fence, or "" on a system without one.
func Confine(dirs, files, parents []string) (note string) {
	if runtime.GOOS != "linux" {
		return ""
	}
	var rules []landlock.Rule
	allow := func(access landlock.AccessFSSet, paths ...string) { // paths that exist
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil {
				may := toFile
				if info.IsDir() {
					may = toWrite
				}
				rules = append(rules, landlock.PathAccess(access&may, path).IgnoreIfMissing())
			}
		}
	}
	allow(toRead, needed...)
	allow(toRead, os.Getenv("SSL_CERT_FILE"))
	allow(toRead, filepath.SplitList(os.Getenv("SSL_CERT_DIR"))...)
	if conf, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil {
		allow(toRead, filepath.Dir(conf))
	}
	for _, path := range files {
		path, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		if info, err := os.Stat(path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			allow(toFile, path)
		}
	}
	allow(ll.AccessFSRemoveDir, parents...)
	allow(toWrite, dirs...)
	if version, err := ll.LandlockGetABIVersion(); err != nil || version < 2 {
		return "not fenced: the kernel has no Landlock, or an old one"
	}
	if err := landlock.V3.BestEffort().RestrictPaths(rules...); err != nil {
		return "not fenced: " + err.Error()
	}
	if len(dirs) == 0 {
		return "fenced: this process can write no file"
	}
	return "fenced: this process can write only below " + strings.Join(dirs, " and ")
}
