// Package localfile has the rules for names of local files, and the errors about local files.
package localfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"example.com/ftpfetch/internal/lazy"
)

var goos = runtime.GOOS // tests change it

// own matches the names that this program reserves for its own files. No download gets such a name. Files of a
// directory, such as ledgers, the trash, slots and lists, begin with ".ftpfetch-"; files beside a target end in one of
// the suffixes. Windows also gives the former short names, and some file systems drop dots and spaces at the end.
var own = lazy.Regexp(`(?i)^\.ftpfetch-|^ftpfet~|\.ftpfetch\.(part|json~?|next|bad)[. ]*$`)

// device matches the names of devices on Windows, which may have superscript digits and any extension.
var device = lazy.Regexp(`(?i)^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\.|$)`)

// Own returns why a component of path has a name that this program reserves, or "". It ignores invisible characters,
// because some file systems of macOS do.
func Own(path string) string {
	if isPlain(path) {
		return ""
	}
	shown := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, filepath.ToSlash(path))
	// All reserved names contain this text, and few others do.
	if strings.Contains(strings.ToLower(shown), "ftpfet") &&
		slices.ContainsFunc(strings.Split(shown, "/"), own().MatchString) {
		return "has a name that ftpfetch gives its own files"
	}
	return ""
}

// isPlain reports whether a path has only ASCII, and no "tp" as in "ftpfet". Most have not, and millions are asked about.
func isPlain(path string) bool {
	for i := range len(path) {
		c := path[i]
		if c >= 0x80 || c|0x20 == 'p' && i > 0 && path[i-1]|0x20 == 't' {
			return false
		}
	}
	return true
}

// Slack is how much of a second some file systems drop. Two times that differ by at most Slack count as the same.
const Slack = time.Second - 1

// SameTime reports whether two times of a file are the same, except for what a file system drops.
func SameTime(a, b time.Time) bool { return a.Sub(b).Abs() <= Slack }

// mostName is how many bytes a name may have so that the longest suffix still fits. Systems allow names of 255 bytes or
// UTF-16 code units, and no name has more code units than bytes. Some disks allow less: those that encrypt names at least
// 140 bytes, for which shortName is.
const (
	mostName  = 255 - len(".ftpfetch.part")
	shortName = 140 - len(".ftpfetch.part")
)

// Beside returns the stem of the names beside a file, before ".ftpfetch": its name and who or, if that is too long, its
// start and a hash.
func Beside(name, who string) string { return beside(name, who, mostName) }

// ShortBeside is Beside for a disk on which that is too long.
func ShortBeside(name, who string) string { return beside(name, who, shortName) }

func beside(name, who string, most int) string {
	stem := name
	if who != "" {
		stem += "~" + who
	}
	if len(stem) <= most {
		return stem
	}
	sum := sha256.Sum256([]byte(stem))
	hash := "~" + hex.EncodeToString(sum[:8])
	stem = stem[:most-len(hash)]
	if utf8.ValidString(name) {
		stem = strings.ToValidUTF8(stem, "") // drop an incomplete character at the end
	}
	return stem + hash
}

// Unusable returns why name cannot be the name of a local file, or "".
func Unusable(name string) string {
	switch {
	case name == "":
		return "is empty"
	case name == "." || name == "..":
		return "is a directory, not a file name"
	case strings.ContainsRune(name, '/'):
		return `holds a "/" and would be saved in another directory`
	case strings.ContainsRune(name, 0):
		return "holds a NUL byte"
	case Own(name) != "":
		return Own(name)
	case goos != "windows":
		return ""
	// Windows would take such a name for a device, a stream or another directory, or silently change it.
	case strings.ContainsFunc(name, barred):
		return "holds a character that Windows does not allow in a name"
	case strings.HasSuffix(name, "."), strings.HasSuffix(name, " "):
		return "ends in a dot or a space, which Windows drops"
	case device().MatchString(name):
		return "is a device name on Windows"
	}
	return ""
}

// barred reports whether Windows forbids a character in names.
func barred(r rune) bool { return r < 0x20 || strings.ContainsRune(`<>:"\|?*`, r) }

// CheckPath checks a path from a list or a server. An accepted path stays below its directory as long as no symbolic
// link leads out of it.
func CheckPath(path string) error {
	if strings.HasPrefix(path, "/") {
		return errors.New("is absolute: write it relative to the output directory")
	}
	for name := range strings.SplitSeq(path, "/") {
		switch why := Unusable(name); {
		case name == "":
			return errors.New("has an empty component: write a name before and after each /")
		case name == ".", name == "..":
			return errors.New(`has "." or ".." as a component: ` +
				"write it without them, relative to the output directory")
		case why != "":
			return errors.New(why + ": write another name")
		}
	}
	return nil
}

// Cause returns the system's error inside err, without the name of the system call, which would mislead: a full disk is
// not a failure of splice(2).
func Cause(err error) error {
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return number
	}
	if naming, ok := errors.AsType[*os.PathError](err); ok {
		return naming.Err
	}
	return err
}

// Failed reports whether this machine caused err, not the network or the server: it lacks a resource, or the address to
// connect from. It is false if connect(2) finds no free port, because one may be free soon.
func Failed(err error) bool {
	if call, ok := errors.AsType[*os.SyscallError](err); ok && call.Syscall == "bind" {
		return true
	}
	return slices.ContainsFunc(Shortages, func(s error) bool { return errors.Is(err, s) })
}

// Shortages are the errors of a system call for which this process or this system lacks a resource.
var Shortages = []error{
	syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
	syscall.Errno(10024), syscall.Errno(10055), // WSAEMFILE and WSAENOBUFS of Windows
}

// Every [Error] about the local side matches ErrLocal. The others distinguish causes.
var (
	ErrLocal = errors.New("local file error")
	ErrName  = errors.New("no usable local file name")
	// ErrKind means that a file is where a directory is needed, or the reverse.
	ErrKind = errors.New("another kind of file is in the way")
	// ErrTaken means that another file of the run has the path.
	ErrTaken = errors.New("another file of the run has the path")
	// ErrOther means that the existing file is not the file to retrieve. The Reason says what to do.
	ErrOther = fmt.Errorf("%w", fs.ErrExist)
	// ErrShorter means that the existing file may be the start of the file to retrieve.
	ErrShorter = fmt.Errorf("%w", fs.ErrExist)
)

// Error is a failure of anything but the transfer itself.
type Error struct {
	Path      string // the file or directory; "" if there is none
	Reason    string // one line, unless a file name in it has line ends
	Err       error  // the cause
	Elsewhere bool   // the local side is not at fault
}

// Error returns "path: reason".
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return e.Path + ": " + e.Reason
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is makes e match [ErrLocal] if the local side is at fault.
func (e *Error) Is(target error) bool { return target == ErrLocal && !e.Elsewhere }

// Failure wraps a system error in an [Error] about path. The Reason is what, such as "cannot be written", followed by
// the system's text without path and operation. Failure returns nil for nil, and an [Error] unchanged.
func Failure(path, what string, err error) error {
	if err == nil {
		return nil
	}
	if _, said := err.(*Error); said {
		return err
	}
	return &Error{Path: path, Reason: what + ": " + Cause(err).Error(), Err: err}
}

// Segment returns the segment of a URL for a name from a listing. It hides a leading "~", which servers would take for
// a home directory outside the tree.
func Segment(name string) string {
	if strings.HasPrefix(name, "~") {
		return "./" + name
	}
	return name
}
