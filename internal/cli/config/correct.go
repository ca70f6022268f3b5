package config

import (
	"slices"
	"strings"
)

// correct says what is wrong with args, and what the whole command should be: for each of the programs whose flags
// they may be, if these differ.
func correct(args []string) error {
	var best *reader
	var whose, commands, refused []string
	for _, program := range []string{"wget", "curl", "aria2", "lftp"} {
		r := read(args, program)
		command, texts := r.command()
		switch {
		case best == nil, r.known > best.known, r.known == best.known && commands == nil && command != "":
			best, refused, whose, commands = r, texts, nil, nil
		case r.known < best.known:
			continue
		}
		if command != "" && !slices.Contains(commands, command) {
			whose, commands = append(whose, program+"'s "), append(commands, command)
		}
	}
	e := &Error{Lines: append(slices.Compact(best.wrong), refused...), Whole: commands != nil}
	for i, command := range commands {
		if len(commands) == 1 {
			whose[i] = ""
		}
		e.Lines = append(e.Lines, "as "+whose[i]+"one command: "+command)
	}
	return e
}

// command returns the command as it should be, or "" if that is not known, and what would still contradict itself in
// it.
func (r *reader) command() (text string, refused []string) {
	right := read(r.right, "")
	right.settle()
	refused = right.refused()
	if r.lost || right.wrong != nil || refused != nil || slices.ContainsFunc(right.Targets, func(t Target) bool { return t.Err != nil }) {
		return "", refused
	}
	text = "ftpfetch"
	for i, word := range r.right {
		switch {
		case i > 0 && takesURL[r.right[i-1]] != "": // it may hold a password
			word = takesURL[r.right[i-1]]
		case strings.Contains(word, "@"):
			word = "URL"
		case !plain().MatchString(word):
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		text += " " + word
	}
	return text, nil
}
