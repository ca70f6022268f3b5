package config

import (
	"errors"
	"slices"
	"strings"

	"example.com/ftpfetch/internal/lazy"
	"example.com/ftpfetch/urlparse"
)

// otherPrograms is what a message says of flags that other programs may have.
const otherPrograms = "docs/coming-from.md has what users of wget, curl, aria2, lftp, rsync and rclone write here"

// correct says what is wrong with a command line, and the command to write instead. That may be what the line means to
// another program; the first one counts that knows all of its flags. If no command is known and ftpfetch lacks a flag,
// correct names the page about other programs.
func (l *line) correct(args []string) error {
	e := &Error{Lines: slices.Compact(l.wrong)}
	if args := scripted(args); args != nil {
		other := read(args, "lftp")
		other.combine()
		if command := other.whole(); command != "" {
			e.Lines = append(append(e.Lines, slices.Compact(other.losses)...), "as lftp means it: "+command)
			e.Whole = true
			return e
		}
	}
	for _, program := range slices.Concat([]string{""}, programs) {
		other := l
		if program != "" {
			other = read(args, program)
			other.combine()
		}
		command := other.whole()
		if command == "" || program == "lftp" && l.verb == "" { // its commands have the flags
			continue
		}
		lead := "as one command: "
		if other.specific {
			lead = "as " + program + " means it: "
		}
		e.Lines = append(append(e.Lines, slices.Compact(other.losses)...), lead+command)
		e.Whole = true
		return e
	}
	if l.unknown {
		e.Lines = append(append(l.advise(e.Lines), l.badURLs()...), otherPrograms)
		return e
	}
	e.Lines = append(e.Lines, l.refused()...)
	return e
}

// badURLs says what is wrong with the URLs.
func (l *line) badURLs() (texts []string) {
	for _, text := range l.operands {
		if ofDaemon().MatchString(text) {
			texts = append(texts, text+": "+l.ofWord(text))
		}
	}
	for _, t := range l.Targets {
		bad, ok := errors.AsType[*urlparse.Error](t.Err)
		if !ok {
			continue
		}
		text, _, _ := strings.Cut(bad.Error(), ": column")
		if strings.Contains(text, "://") && !strings.Contains(text, " ") {
			texts = append(texts, bad.Error())
		}
	}
	return texts
}

// whole returns the corrected command, or "" if it is not known.
func (l *line) whole() string {
	bad := func(t Target) bool { return t.Err != nil }
	twoServers := l.compares && len(l.Targets) > 1
	if l.incomplete || twoServers || slices.ContainsFunc(l.Targets, bad) || l.refused() != nil {
		return ""
	}
	return "ftpfetch" + l.written()
}

// written returns the words of the corrected command, quoted for a shell, each after a space. It shows no password.
func (l *line) written() (text string) {
	for i, word := range l.right {
		if i > 0 && l.right[i-1] == "-u" { // no password is shown
			word, _, _ = strings.Cut(word, ":")
		}
		u, err := l.parseURL(word)
		switch {
		case err == nil && strings.Contains(word, "@"):
			word = u.Redacted()
		case err != nil && strings.Contains(word, "@") && strings.ContainsAny(word, ":/"):
			word = "URL"
		}
		text += " " + quoted(word)
	}
	return text
}

// quoted returns a word as it is written for a shell.
func quoted(word string) string {
	if plain().MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

var (
	urlStart = lazy.Regexp(`(?i)^["'<]*(url:)?(ftp|ftps|ftpes|https?|sftp)://`)
	aPath    = lazy.Regexp(`^([^:@/]*/?|[.]{0,2}/.*|[^:@/.]+/.*)$`) // rather than a host with a path
	plain    = lazy.Regexp(`^[A-Za-z0-9_%+=:,./@-]+$`)              // what needs no quotes in a shell
)

// shown returns what a message shows in place of a value. A value that looks like a URL may hold a password.
func shown(value string) string {
	switch {
	case value == "":
		return `""`
	case strings.Contains(value, "//"), strings.Contains(value, "@"):
		return "URL"
	}
	return value
}

// closest returns the flag that name most likely misspells or abbreviates, or nil. One letter in four may be missing,
// extra or out of place.
func (l *line) closest(name string) (best *flag) {
	if len(name) < 3 {
		return nil
	}
	var begin []*flag
	least := max(1, len(name)/4) + 1
	for _, f := range l.flags {
		if strings.HasPrefix(name, "no-") && !strings.HasPrefix(f.name, "no-") { // a prefix that reverses the meaning
			continue
		}
		for ; within(least-1, name, f.name); least-- {
			best = f
		}
		if len(name) > 3 && strings.HasPrefix(f.name, name) {
			begin = append(begin, f)
		}
	}
	if best == nil && len(begin) == 1 {
		return begin[0]
	}
	return best
}

// within reports whether at most n changes turn a into b. A change adds or drops a letter, or swaps two neighbours. A
// changed letter counts as two changes, because it makes another word: --retort is not --report.
func within(n int, a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a = a[1:]
		b = b[1:]
	}
	if n == 0 || a == "" || b == "" {
		return len(a)+len(b) <= n
	}
	return within(n-1, a[1:], b) || within(n-1, a, b[1:]) ||
		len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] && within(n-1, a[2:], b[2:])
}
