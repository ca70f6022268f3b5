package download

import (
	"runtime"
	"strings"

	"example.com/ftpfetch/urlparse"
)

// LocalName returns the name under which to save the file that u names: its last
// segment, decoded and otherwise unchanged. The error is [ErrName] if the name
// would leave the directory, if the system cannot have such a file, or if this
// program gives such names to its own files, which a later run would trust.
func LocalName(u *urlparse.URL) (string, error) {
	return localName(u.Name, runtime.GOOS)
}

// LocalPath joins the components of a relative path with "/". Each must be usable
// as [LocalName] says. So the path stays below the output directory as long as no
// symbolic link leads out of it. The error is [ErrName].
func LocalPath(components ...string) (string, error) {
	return localPath(components, runtime.GOOS)
}

func localPath(components []string, goos string) (string, error) {
	for _, name := range components {
		if _, err := localName(name, goos); err != nil {
			return "", err
		}
	}
	return strings.Join(components, "/"), nil
}

// PathKey returns the same key for paths of the same file. The file systems of
// Windows and macOS usually ignore case.
func PathKey(path string) string { return pathKey(path, runtime.GOOS) }

func pathKey(path, goos string) string {
	if goos == "windows" || goos == "darwin" || goos == "ios" {
		return strings.ToLower(strings.ToUpper(path))
	}
	return path
}

func localName(name, goos string) (string, error) {
	if reason := unusable(name, goos); reason != "" {
		return "", &Error{Path: name, Reason: reason, Err: ErrName}
	}
	return name, nil
}

// unusable says why name cannot be a local file name, or "".
func unusable(name, goos string) string {
	switch {
	case name == "":
		return `the URL names no file; write its name after the last "/"`
	case name == "." || name == "..":
		return "is a directory, not a file name"
	case strings.ContainsRune(name, '/'):
		return `holds a "/" and would be saved in another directory`
	case strings.ContainsRune(name, 0):
		return "holds a NUL byte"
	case own().MatchString(name):
		return ownReason
	case goos == "windows":
		return unusableOnWindows(name)
	}
	return ""
}

// unusableOnWindows says why Windows would take name for a device, a stream or
// another directory, or would silently change it, or "".
func unusableOnWindows(name string) string {
	for _, r := range name {
		if r < 0x20 || strings.ContainsRune(`<>:"\|?*`, r) {
			return "holds a character that Windows does not allow in a name"
		}
	}
	if strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") {
		return "ends in a dot or a space, which Windows drops"
	}
	if reservedOnWindows(name) {
		return "is a device name on Windows"
	}
	return ""
}

// reservedOnWindows reports whether name is a device, with any extension.
func reservedOnWindows(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	for _, device := range []string{"COM", "LPT"} {
		if digit, ok := strings.CutPrefix(base, device); ok && isDeviceDigit(digit) {
			return true
		}
	}
	return false
}

// isDeviceDigit reports whether s ends a device's name. Windows takes superscript
// digits too.
func isDeviceDigit(s string) bool {
	switch s {
	case "1", "2", "3", "4", "5", "6", "7", "8", "9", "0", "¹", "²", "³":
		return true
	}
	return false
}
