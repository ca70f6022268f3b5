// Package localfile knows what names local files may have, and says what has failed with them.
package localfile

import (
	"errors"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
)

var goos = runtime.GOOS // but for tests

// own matches the names that this program alone gives: nothing else is saved under them.
var own = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^\.ftpfetch-ledger|\.ftpfetch\.(part|json~?|bad)$`)
})

// device matches the names of devices on Windows, which have superscript digits too and any extension.
var device = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\.|$)`)
})

// Own says that name is one that this program gives its own files, or returns "".
func Own(name string) string {
	if own().MatchString(name) {
		return "has a name that ftpfetch gives its own files"
	}
	return ""
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
		return `the URL names no file; write its name after the last "/"`
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
	case strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 || strings.ContainsRune(`<>:"\|?*`, r) }):
		return "holds a character that Windows does not allow in a name"
	case strings.HasSuffix(name, "."), strings.HasSuffix(name, " "):
		return "ends in a dot or a space, which Windows drops"
	case device().MatchString(name):
		return "is a device name on Windows"
	}
	return ""
}

// Cause returns the system's own error inside err, without the name of a system call: a full disk is no failure of
// splice(2).
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
	call := (*os.SyscallError)(nil)
	return slices.ContainsFunc(Shortages, func(s error) bool { return errors.Is(err, s) }) || errors.As(err, &call) && call.Syscall == "bind"
}

// Shortages are the errors of a system call for which this process or this system has too little of something. The last
// two are WSAEMFILE and WSAENOBUFS of Windows.
var Shortages = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.Errno(10024), syscall.Errno(10055)}
