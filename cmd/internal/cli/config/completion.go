package config

import (
	_ "embed"
	"fmt"
	"strings"

	"example.com/ftpfetch/download/manifest"
)

// The scripts for shells. LINES stands for what a shell's line returns for each flag, FLAGS for all spellings. The one
// for bash works with 3.2 or later. Where it offers nothing, "-o default" completes file names.
//
//go:embed completion.bash
var bashScript string

//go:embed completion.zsh
var zshScript string

//go:embed completion.fish
var fishScript string

// shell says how a shell completes the value of a flag: one of some words (for which %s stands), a directory, a file or
// any text.
type shell struct {
	script                string
	words, dir, file, any string
	line                  func(f *flag, value string) string
}

var shells = map[string]shell{
	"bash": {
		script: bashScript,
		words:  `COMPREPLY=($(compgen -W '%s' -- "$cur")); _ftpfetch_no_files; return`,
		dir:    `IFS=$'\n'; COMPREPLY=($(compgen -d -- "$cur")); _ftpfetch_no_files; return`,
		file:   "return",
		any:    "_ftpfetch_no_files; return",
		line:   (*flag).bashLine,
	},
	"zsh": {
		script: zshScript,
		words:  "(%s)",
		dir:    "_directories",
		file:   "_files",
		any:    " ",
		line:   (*flag).zshLine,
	},
	"fish": {
		script: fishScript,
		words:  " -x -a '%s'",
		dir:    " -x -a '(__fish_complete_directories)'",
		file:   " -r -F",
		any:    " -x",
		line:   (*flag).fishLine,
	},
}

// completion returns the script for a shell, made from the table of flags.
func completion(name string) string {
	s := shells[name]
	var lines, spellings strings.Builder
	for _, f := range read(nil, "").flags {
		lines.WriteString(s.line(f, s.value(f)))
		spellings.WriteString(" " + strings.Join(f.spellings(), " "))
	}
	all := strings.TrimPrefix(spellings.String(), " ")
	return strings.NewReplacer("LINES", lines.String(), "FLAGS", all).Replace(s.script)
}

// value returns how the shell completes the value of the flag, or "" if the flag has none.
func (s *shell) value(f *flag) string {
	switch {
	case f.value == "":
		return ""
	case strings.Contains(f.value, "|"): // ADDR is a placeholder, not one of the words
		return fmt.Sprintf(s.words, strings.ReplaceAll(strings.TrimSuffix(f.value, "|ADDR"), "|", " "))
	case f.value == "FORM":
		return fmt.Sprintf(s.words, strings.Join(manifest.Formats(), " "))
	case f.value == "DIR":
		return s.dir
	case f.value == "FILE":
		return s.file
	}
	return s.any
}

// spellings returns the letter, if there is one, and the name, with their dashes.
func (f *flag) spellings() []string {
	if f.letter == "" {
		return []string{"--" + f.name}
	}
	return []string{"-" + f.letter, "--" + f.name}
}

func (f *flag) bashLine(value string) string {
	switch {
	case value == "":
		return ""
	case f.bare():
		value = fmt.Sprintf("if [[ $equals ]]; then %s; fi", value)
	}
	return fmt.Sprintf("\t%s) %s ;;\n", strings.Join(f.spellings(), "|"), value)
}

func (f *flag) zshLine(value string) string {
	names := f.spellings()
	spelling := strings.Join(names, ",")
	usage := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "'", `'\''`).Replace(withForms(f.fill(f.help)))
	if value != "" && f.bare() {
		both := fmt.Sprintf("'(%s)'", strings.Join(names, " "))
		return fmt.Sprintf("\t%s%s'[%s]' \\\n", both, names[0], usage) +
			fmt.Sprintf("\t%s--%s=-'[%s]::%s:%s' \\\n", both, f.name, usage, f.value, value)
	}
	if value != "" {
		spelling = strings.Join(names, "+,") + "="
		value = ":" + strings.ReplaceAll(f.value, ":", `\:`) + ":" + value
	}
	if len(names) > 1 {
		spelling = fmt.Sprintf("'(%s)'{%s}", strings.Join(names, " "), spelling)
	}
	return fmt.Sprintf("\t%s'[%s]%s' \\\n", spelling, usage, value)
}

func (f *flag) fishLine(value string) string {
	letter := ""
	if f.letter != "" {
		letter = " -s " + f.letter
	}
	if f.bare() {
		value = strings.NewReplacer(" -x", "", " -r", "").Replace(value)
	}
	usage := strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(withForms(f.fill(f.help)))
	return fmt.Sprintf("complete -c ftpfetch%s -l %s%s -d '%s'\n", letter, f.name, value, usage)
}
