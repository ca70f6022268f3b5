package config

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"example.com/ftpfetch/internal/lazy"
)

// addUnsaid adds to the flags what the program does without one.
func (l *line) addUnsaid(args []string) {
	switch l.program {
	case "wget":
		l.addProgress(args)
	case "curl":
		l.addOutput(args)
	case "rsync", "rclone", "lftp":
		l.addPlace()
	case "ncftp":
		l.incomplete = l.incomplete || l.Dir != "" // its -d names a log
	}
}

// addProgress leaves out -q beside --show-progress of wget, which then shows the progress and no more.
func (l *line) addProgress(args []string) {
	if l.Quiet && slices.Contains(args, "--show-progress") {
		l.Quiet = false
		l.right = slices.DeleteFunc(l.right, func(word string) bool { return word == "-q" })
	}
}

// savesByName matches the flags with which curl saves a file.
var savesByName = lazy.Regexp(`^(-[^-]*O.*|--remote-name.*)$`)

// addOutput says where curl writes: it prints what it is not told to save, and --create-dirs makes the directories of
// -o.
func (l *line) addOutput(args []string) {
	remoteTime := slices.Contains(args, "-R") && !slices.ContainsFunc(args, savesByName().MatchString)
	star := func(url string) bool { return strings.Contains(url, "*") && !strings.Contains(url, "?") }
	// It has no trees, no file whose time to set, and no "*" that stands for names.
	if l.Recursive || remoteTime || slices.ContainsFunc(l.operands, star) {
		l.incomplete = true
	}
	isFile := func(text string) bool { return !strings.HasSuffix(text, "/") }
	saves := slices.ContainsFunc(args, savesByName().MatchString) || l.Output != "" || l.Dir != ""
	if slices.ContainsFunc(l.operands, isFile) && !saves && !l.OnlyShows() {
		l.setFlag(l.lookup("--output"), "-", true)
	}
	if dir, name := filepath.Split(l.Output); dir != "" && slices.Contains(args, "--create-dirs") {
		l.replace("--dir", filepath.Join(l.Dir, dir))
		l.replace("--output", name)
	}
}

// replace sets one of our flags in place of an earlier value.
func (l *line) replace(flag, value string) {
	f := l.lookup(flag)
	if i := slices.Index(l.right, f.String()); i >= 0 {
		l.right = slices.Delete(l.right, i, i+2)
	}
	f.before = ""
	l.setFlag(f, value, true)
}

// addPlace says where the files go: the last argument of rsync, of rclone and of lftp's mirror names the place.
func (l *line) addPlace() {
	last := len(l.operands) - 1
	if l.program == "rsync" { // without a place it lists; the letters of a tree mean something only there
		lists := last == 0 && !strings.HasSuffix(l.operands[0], "/")
		l.incomplete = l.incomplete || lists || !l.Recursive
	}
	copyto := l.verb == "copyto"
	if last < 1 || !l.Recursive && !copyto || urlStart().MatchString(l.operands[last]) {
		return
	}
	place, source := l.operands[last], l.operands[last-1]
	l.operands = l.operands[:last]
	l.right = slices.DeleteFunc(l.right, func(word string) bool { return word == place })
	whole := strings.HasSuffix(source, "/") // otherwise rsync and lftp may make a directory of that name in the place
	switch {
	case copyto && !whole: // a file under this name
		l.setFlag(l.lookup("--output"), place, true)
		return
	case copyto:
		l.setFlag(l.lookup("--recursive"), "", false)
	case !whole:
		place = l.below(place, path.Base(source))
	}
	if place != "" {
		l.setFlag(l.lookup("--dir"), place, true)
	}
}

// below returns where the program copies a directory of a name, if the URL does not end in "/"; "" is the usual place.
func (l *line) below(place, name string) string {
	switch {
	case l.program == "lftp" && strings.HasSuffix(place, "/"):
		return place + name
	case l.program == "rsync" && path.Clean(place) == ".":
		return ""
	case l.program == "rsync": // the name of a file, or the place of a directory
		l.incomplete = true
	}
	return place
}
