// Package localfile knows what names local files may have, and says what has failed with them.
package localfile

import (
	"context"
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

var goos = runtime.GOOS // but for tests

// own matches the names that this program alone gives, wherever it writes: nothing else is saved under them. What it keeps
// in a directory begins with ".ftpfetch-": ledgers, the trash, slots, lists; what is beside a file ends as here. Windows
// gives the first kind short names too. Some file systems drop dots and spaces at the end.
var own = lazy.Regexp(`(?i)^\.ftpfetch-|^ftpfet~|\.ftpfetch\.(part|json~?|bad)[. ]*$`)

// device matches the names of devices on Windows, which have superscript digits too and any extension.
var device = lazy.Regexp(`(?i)^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\.|$)`)

// Own says that a component of path has a name that this program gives its own files, or returns "". Some file systems of
// macOS overlook characters that have no shape.
func Own(path string) string {
	shown := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, filepath.ToSlash(path))
	// Nearly no name has what all of these have.
	if strings.Contains(strings.ToLower(shown), "ftpfet") &&
		slices.ContainsFunc(strings.Split(shown, "/"), own().MatchString) {
		return "has a name that ftpfetch gives its own files"
	}
	return ""
}

// Slack is how much of a second some file systems lose. Two times that differ by no more are the same.
const Slack = time.Second - 1

// SameTime reports whether two times of a file are the same, but for what a file system loses.
func SameTime(a, b time.Time) bool { return a.Sub(b).Abs() <= Slack }

// attempt is the key of a context's attempt.
type attempt struct{}

// WithAttempt returns a context for one of several attempts at the same files at once. Their parts have its name in their
// names.
func WithAttempt(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, attempt{}, name)
}

// Attempt returns the name of the attempt, or "".
func Attempt(ctx context.Context) string {
	name, _ := ctx.Value(attempt{}).(string)
	return name
}

// report is the key of a context's report.
type report struct{}

// WithReport returns a context for a run that writes a report to a file meanwhile.
func WithReport(ctx context.Context, file fs.FileInfo) context.Context {
	return context.WithValue(ctx, report{}, file)
}

// IsReport returns an error if info is the report of the run.
func IsReport(ctx context.Context, path string, info fs.FileInfo) error {
	if file, _ := ctx.Value(report{}).(fs.FileInfo); !os.SameFile(file, info) {
		return nil
	}
	return &Error{Path: path, Reason: "is the report of this run: write another name for --report"}
}

// mostName is how many bytes a name may have. Systems allow 255 bytes or UTF-16 units, of which no name has more.
const mostName = 255 - len(".ftpfetch.json~")

// Beside returns what comes before ".ftpfetch" in the names beside a file: its name and who, or the start and a hash.
func Beside(name, who string) string {
	stem := name
	if who != "" {
		stem += "~" + who
	}
	if len(stem) <= mostName {
		return stem
	}
	sum := sha256.Sum256([]byte(stem))
	hash := "~" + hex.EncodeToString(sum[:8])
	stem = stem[:mostName-len(hash)]
	if utf8.ValidString(name) {
		stem = strings.ToValidUTF8(stem, "") // without half a letter at its end
	}
	return stem + hash
}

// Key returns the same key for paths of the same file. The file systems of Windows and macOS usually ignore case.
func Key(path string) string {
	if goos == "windows" || goos == "darwin" || goos == "ios" {
		return strings.ToLower(strings.ToUpper(path))
	}
	return path
}

// Unusable says why name cannot be the name of a local file, or "".
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
	// Windows would take the name for a device, a stream or another directory, or silently change it
	case strings.ContainsFunc(name, barred):
		return "holds a character that Windows does not allow in a name"
	case strings.HasSuffix(name, "."), strings.HasSuffix(name, " "):
		return "ends in a dot or a space, which Windows drops"
	case device().MatchString(name):
		return "is a device name on Windows"
	}
	return ""
}

// barred reports whether Windows allows no such character in a name.
func barred(r rune) bool { return r < 0x20 || strings.ContainsRune(`<>:"\|?*`, r) }

// CheckPath checks a path from outside. It stays below its directory as long as no symbolic link leads out of it.
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

// Cause returns the system's own error inside err, without a system call's name: a full disk is no failure of splice(2).
func Cause(err error) error {
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return number
	}
	if naming, ok := errors.AsType[*os.PathError](err); ok {
		return naming.Err
	}
	return err
}

// Failed reports whether err came from this machine, not from the network or the server: it has too little of something,
// or does not have the address to connect from. Where connect(2) finds no free port, one may be free soon.
func Failed(err error) bool {
	if call, ok := errors.AsType[*os.SyscallError](err); ok && call.Syscall == "bind" {
		return true
	}
	return slices.ContainsFunc(Shortages, func(s error) bool { return errors.Is(err, s) })
}

// Shortages are the errors of a system call for which this process or this system has too little of something.
var Shortages = []error{
	syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
	syscall.Errno(10024), syscall.Errno(10055), // WSAEMFILE and WSAENOBUFS of Windows
}

// ErrLocal is every [Error] of the local side. The others distinguish causes.
var (
	ErrLocal = errors.New("local file error")
	ErrName  = errors.New("no usable local file name")
	// ErrTaken means a path that another file of the run has.
	ErrTaken = errors.New("another file of the run has the path")
	// ErrOther means a file that is not the one to retrieve; the Reason says what to do.
	ErrOther = fmt.Errorf("%w", fs.ErrExist)
)

// Error says why something failed, unless the transfer itself failed.
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

// Is reports that e is an [ErrLocal], if the local side is at fault.
func (e *Error) Is(target error) bool { return target == ErrLocal && !e.Elsewhere }

// Failure wraps a system error in an [Error] about path: its Reason is what, such as "cannot be written", and why, without
// the path and the operation in the system's own text. It returns nil for nil, and an [Error] as it is.
func Failure(path, what string, err error) error {
	if err == nil {
		return nil
	}
	if _, said := err.(*Error); said {
		return err
	}
	return &Error{Path: path, Reason: what + ": " + Cause(err).Error(), Err: err}
}

// Segment returns the segment of a URL for a name from a listing. Servers take a "~" at its beginning for a home directory,
// which a tree must not lead to.
func Segment(name string) string {
	if strings.HasPrefix(name, "~") {
		return "./" + name
	}
	return name
}
