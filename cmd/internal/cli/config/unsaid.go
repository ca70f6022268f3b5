package config

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"example.com/ftpfetch/internal/lazy"
)

// addUnsaid adds to the flags what the program does without one.
func (l *line) addUnsaid(args []string) {
	if l.Print == "version" && len(l.operands) > 0 { // -V has another meaning then
		l.incomplete = true
	}
	l.addGlob(args)
	switch l.program {
	case "wget":
		l.incomplete = l.incomplete || !l.Recursive && slices.ContainsFunc(args, ofHTML().MatchString)
		l.addProgress(args)
		l.addLayout(args)
	case "curl":
		l.addOutput(args)
	case "rsync", "rclone", "lftp":
		l.addCopy(args)
	case "ncftp":
		l.incomplete = l.incomplete || l.Dir != "" // its -d names a log
	}
}

// addGlob has patterns in URLs taken as the program does.
func (l *line) addGlob(args []string) {
	if slices.Contains(args, "--no-glob") {
		return
	}
	patterns := hasPattern
	if l.program == "curl" {
		patterns = isPattern // it has no "*"
	}
	globs := l.Tree.Newest > 0 || l.program == "wget" || l.program == "curl"
	if l.program != "" && globs && !l.Recursive && !l.Glob && slices.ContainsFunc(l.operands, patterns) {
		l.setFlag(l.lookup("--glob"), "", false)
	}
}

// isPlace reports whether an operand is no URL.
func isPlace(text string) bool { return !urlStart().MatchString(text) }

// addCheck says which directory is compared with the server's, as rclone and diff take it: ftpfetch compares one here.
func (l *line) addCheck() {
	place := slices.IndexFunc(l.operands, isPlace)
	if len(l.operands) != 2 || place < 0 {
		l.incomplete = true
		return
	}
	dir := l.operands[place]
	l.operands = slices.Delete(l.operands, place, place+1)
	l.right = slices.DeleteFunc(l.right, func(word string) bool { return word == dir })
	l.setFlag(l.lookup("--dir"), dir, true)
}

// addCopy says what rsync, rclone and lftp do with what they copy or list.
func (l *line) addCopy(args []string) {
	if l.verb == "check" {
		l.addCheck()
		return
	}
	l.addDirectory()
	l.addBase(args)
	l.addFilters(args)
	if l.program == "rsync" { // without a place it lists; the letters of a tree mean something only there
		lists := len(l.operands) == 1 && !strings.HasSuffix(l.operands[0], "/")
		l.incomplete = l.incomplete || lists || !l.Recursive && l.base == "" && !l.addFilePlace()
	}
	l.addPlace()
	stays := l.noClobber || l.resume && l.program != "lftp" // of --ignore-existing and --append
	if stays && l.newer {
		l.newer = false
		l.right = slices.DeleteFunc(l.right, func(word string) bool { return word == "-N" })
	}
	l.addPartial(args)
	l.incomplete = l.incomplete || l.verb == "mirror" && l.Input != "" // -i has a pattern there
	if l.Delete {
		l.losses = append(l.losses,
			"--delete deletes only what ftpfetch has fetched: -r --check shows what else is here")
	}
}

// addPartial has rsync's -P and --partial go on with the part of one file that is there.
func (l *line) addPartial(args []string) {
	partial := func(arg string) bool { return arg == "--partial" || ofPartial().MatchString(arg) }
	if l.program == "rsync" && !l.Recursive && !l.noClobber && slices.ContainsFunc(args, partial) {
		l.setFlag(l.lookup("-c"), "", false)
	}
}

// ofPartial matches letters of rsync with P among them.
var ofPartial = lazy.Regexp(`^-[a-zA-Z]*P[a-zA-Z]*$`)

// ofHTML matches the letters of wget about HTML, which are certain to be wget's only with a tree.
var ofHTML = lazy.Regexp(`^-([^-n]*[kpE]|n[a-zA-Z].*[kpE])`)

// addProgress leaves out -q beside --show-progress of wget, which then shows the progress and no more.
func (l *line) addProgress(args []string) {
	if l.Quiet && slices.Contains(args, "--show-progress") {
		l.Quiet = false
		l.right = slices.DeleteFunc(l.right, func(word string) bool { return word == "-q" })
	}
}

// addLayout says where wget puts a tree, and a file with -x: below all directories of its URL, without the first N with
// --cut-dirs=N. The directory that it makes for the host without -nH is left out.
func (l *line) addLayout(args []string) {
	n := valueOf("--cut-dirs", args)
	noHost := slices.Contains(args, "-nH") || slices.Contains(args, "--no-host-directories")
	if l.Reading.KeepDirs && !l.Recursive {
		l.addFileLayout(n, noHost)
		return
	}
	if !l.Recursive || n == "" && !noHost {
		return
	}
	switch keep := l.dirsWithout(n); {
	case keep == 0 && l.Dir == "":
		l.setFlag(l.lookup("--dir"), ".", true)
	case keep > 1, keep == 1 && l.Dir != "":
		l.setFlag(l.lookup("--keep-dirs"), strconv.Itoa(keep), true)
	}
}

// addFileLayout is addLayout for files.
func (l *line) addFileLayout(cut string, noHost bool) {
	if !noHost {
		l.losses = append(l.losses, "a directory for the host is not made: -d HOST makes it")
	}
	if cut == "" {
		return
	}
	l.right = slices.DeleteFunc(l.right, func(word string) bool { return word == "--keep-dirs" })
	if keep := l.dirsWithout(cut); keep > 0 {
		l.setFlag(l.lookup("--keep-dirs"), strconv.Itoa(keep), true)
	}
}

// dirsWithout returns how many directories of the URLs are left without the first ones; -1 if that is not known. The line
// is incomplete if the URLs differ.
func (l *line) dirsWithout(first string) int {
	cut, _ := strconv.Atoi(first)
	keep := -1
	for _, text := range l.operands {
		u, err := l.parseURL(text)
		if err != nil {
			return -1
		}
		dirs := u.Dirs
		if l.Recursive {
			dirs = u.Child("", "").Dirs
		}
		n := max(0, len(dirs)-cut)
		l.incomplete = l.incomplete || keep >= 0 && n != keep
		keep = n
	}
	return keep
}

// onlyNames matches the flags with which curl lists only names.
var onlyNames = lazy.Regexp(`^(-[a-zA-Z]*l[a-zA-Z]*|--list-only)$`)

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
	if most := valueOf("--parallel-max", args); most != "" {
		l.replace("-j", most)
	}
	l.addPrinted(args)
	isFile := func(text string) bool { return !strings.HasSuffix(text, "/") }
	saves := slices.ContainsFunc(args, savesByName().MatchString) || l.Output != "" || l.Dir != ""
	if slices.ContainsFunc(l.operands, isFile) && !saves && !l.OnlyShows() {
		l.setFlag(l.lookup("--output"), "-", true)
		l.losses = append(l.losses, "curl prints the file: without -o - it is saved")
	}
	if dir, name := filepath.Split(l.Output); dir != "" && slices.Contains(args, "--create-dirs") {
		l.replace("--dir", filepath.Join(l.Dir, dir))
		l.replace("--output", name)
	}
}

// addPrinted says that what curl prints of a file or a directory is printed otherwise here.
func (l *line) addPrinted(args []string) {
	if l.Info && !l.Recursive {
		l.losses = append(l.losses, "-I prints size, time and URL on one line; --json names them")
	}
	isDir := func(text string) bool { return strings.HasSuffix(text, "/") }
	names := slices.ContainsFunc(args, onlyNames().MatchString)
	if slices.ContainsFunc(l.operands, isDir) && !names && !l.OnlyShows() {
		l.losses = append(l.losses,
			"a directory is printed as its names: with -l there are size, time and name")
	}
}

// replace sets one of our flags in place of an earlier value.
func (l *line) replace(flag, value string) {
	f := l.lookup(flag)
	for i := slices.Index(l.right, f.String()); i >= 0; i = slices.Index(l.right, f.String()) {
		l.right = slices.Delete(l.right, i, i+2)
	}
	f.before = ""
	l.setFlag(f, value, true)
}

// valueOf returns the last value of a flag in args, or "".
func valueOf(flag string, args []string) (value string) {
	for i, arg := range args {
		name, text, given := strings.Cut(arg, "=")
		switch {
		case name != flag:
		case given:
			value = text
		case i+1 < len(args):
			value = args[i+1]
		}
	}
	return value
}

// addDirectory adds the "/" to the URL of a directory whose names are to be printed.
func (l *line) addDirectory() {
	if !slices.Contains([]string{"nlist", "cls", "lsf", "lsjson"}, l.verb) || len(l.operands) == 0 {
		return
	}
	url := l.operands[0]
	if u, err := l.parseURL(url); err == nil && !u.IsDir() && u.Name != "" && !hasPattern(url) {
		l.right[slices.Index(l.right, url)] = url + "/"
		l.operands[0] = url + "/"
	}
}

// addBase makes the URL the base of the paths in the list of --files-from.
func (l *line) addBase(args []string) {
	from := func(arg string) bool { return strings.HasPrefix(arg, "--files-from") }
	if !slices.ContainsFunc(args, from) || len(l.operands) == 0 || l.base != "" {
		return
	}
	url := l.operands[0]
	l.operands = l.operands[1:]
	l.right = slices.DeleteFunc(l.right, func(word string) bool { return word == url })
	l.setFlag(l.lookup("--base"), url, true)
	l.Recursive = false // the list has the files
	l.right = slices.DeleteFunc(l.right, func(word string) bool { return word == "-r" })
	if len(l.operands) == 1 {
		place := l.operands[0]
		l.operands = nil
		l.right = slices.DeleteFunc(l.right, func(word string) bool { return word == place })
		l.setFlag(l.lookup("--dir"), place, true)
	}
}

// addFilters checks that --include and --exclude '*' are together what --accept is: the one without the other means
// something else, but for the --include of rclone.
func (l *line) addFilters(args []string) {
	includes := valueOf("--include", args) != ""
	last := valueOf("--exclude", args)
	rest := last == "*" || last == "**"
	if includes != rest && (rest || l.program == "rsync") {
		l.incomplete = true
	}
	dirs := slices.Contains(args, "--include=*/") || slices.Contains(args, "*/")
	if l.program == "rsync" && rest && !dirs && l.Recursive { // the directories are left out too
		l.setFlag(l.lookup("--depth"), "1", true)
	}
}

// addPlace says where the files go: the last argument of rsync, of rclone and of lftp's mirror names the place.
func (l *line) addPlace() {
	last := len(l.operands) - 1
	copyto := l.verb == "copyto" || l.verb == "copyurl"
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

// addFilePlace says where rsync puts one file, if that is certain. It reports whether it is.
func (l *line) addFilePlace() bool {
	if len(l.operands) != 2 || strings.HasSuffix(l.operands[0], "/") {
		return false
	}
	place := l.operands[1]
	info, err := os.Stat(place)
	if !strings.HasSuffix(place, "/") && (err != nil || !info.IsDir()) {
		return false
	}
	l.operands = l.operands[:1]
	l.right = slices.DeleteFunc(l.right, func(word string) bool { return word == place })
	if path.Clean(place) != "." {
		l.setFlag(l.lookup("--dir"), place, true)
	}
	if !l.newer { // rsync replaces what differs
		l.setFlag(l.lookup("-N"), "", false)
	}
	return true
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
