package config

import (
	stdflag "flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
)

var update = stdflag.Bool("update", false, "write the help, the man page and the completions")

// page is the man page.
const page = "../../../../docs/ftpfetch.1"

// TestGenerated compares the help, the options of the man page and the completions with the table of flags. With -update
// it writes them.
func TestGenerated(t *testing.T) {
	for file, want := range map[string]string{
		"help.txt":        withHelp(t),
		page:              withOptions(t),
		"completions.txt": withCompletions(t),
	} {
		if *update {
			must.Do(t, os.WriteFile(file, []byte(want), 0o666))
		}
		if got := text(t, file); got != want {
			t.Errorf("%s is not what the table says: "+
				"go test ./cmd/internal/cli/config -run TestGenerated -update", file)
		}
	}
}

func text(t *testing.T, file string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(file))(t))
}

// table returns the table of the flags.
func table() []group { return new(line).groups() }

// withHelp returns help.txt with the rows that the table has: those of -h, between the marks of its parts and an empty
// line, and those of --help, up to the environment.
func withHelp(t *testing.T) string {
	short, long := "", ""
	for _, g := range table() {
		long += g.title + ":\n"
		for _, f := range g.flags {
			long += f.helpRow(f.help)
			if f.brief != "" {
				short += f.helpRow(f.brief)
			}
		}
		long += "\n"
	}
	all := between(t, text(t, "help.txt"), "\n---\n", "\nA file that is there", short)
	return between(t, all, "before or after URLs.\n\n", "Environment: ", long)
}

// between returns all with the text between two marks replaced.
func between(t *testing.T, all, from, to, text string) string {
	t.Helper()
	before, rest, found := strings.Cut(all, from)
	_, after, ends := strings.Cut(rest, to)
	if !found || !ends {
		t.Fatalf("%q or %q is missing", from, to)
	}
	return before + from + text + to + after
}

// plain returns a text of the table as one line.
func (f *flag) plain(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "DEFAULT", f.def)), " ")
}

// helpRow returns the lines of --help, or with another text those of -h.
func (f *flag) helpRow(text string) string {
	const width, indent = 80, 30
	row := "      --" + f.name
	if f.letter != "" {
		row = "  -" + f.letter + ", --" + f.name
	}
	switch {
	case f.implied != "" && f.value != "":
		row += "[=" + f.value + "]"
	case f.value != "":
		row += " " + f.value
	}
	if len(row) > indent-2 {
		row += "\n" + strings.Repeat(" ", indent-1)
	}
	row += strings.Repeat(" ", max(0, indent-1-len(row))) // none after a line of its own
	at := indent - 1
	for word := range strings.FieldsSeq(f.plain(text)) {
		switch {
		case word == "FORMS": // a long line of its own
			row += "\n         "
		case at+1+len(word) > width:
			row += "\n" + strings.Repeat(" ", indent-1)
			at = indent - 1
		}
		row += " " + word
		at += 1 + len(word)
	}
	return row + "\n"
}

// withOptions returns the man page with the options that the table has.
func withOptions(t *testing.T) string {
	options := ""
	for _, g := range table() {
		options += ".SS " + g.title + "\n"
		for _, f := range g.flags {
			options += f.manRow()
		}
	}
	return between(t, text(t, page), ".SH OPTIONS\n", ".SH MANY FILES\n", options)
}

// manRow returns the part of the man page about a flag.
func (f *flag) manRow() string {
	row := ".TP\n"
	if f.letter != "" {
		row += `\fB\-` + f.letter + `\fR, `
	}
	row += `\fB\-\-` + roff(f.name) + `\fR`
	italic := `\fI` + roff(f.value) + `\fR`
	switch {
	case f.implied != "" && f.value != "":
		row += "[=" + italic + "]"
	case f.value != "":
		row += " " + italic
	}
	says := strings.Replace(f.plain(f.help), ": FORMS", "; ftpfetch --help names the forms", 1)
	if f.more != "" {
		says += ". " + f.plain(f.more)
	}
	at := 0
	var lines strings.Builder
	for word := range strings.FieldsSeq(roff(says)) {
		if f.value != "" && strings.Trim(word, ".,;:()?") == roff(f.value) {
			word = strings.Replace(word, roff(f.value), italic, 1)
		}
		if at > 0 && at+1+len(word) > 110 {
			lines.WriteString("\n")
			at = 0
		}
		switch {
		case at > 0:
			lines.WriteString(" ")
		case strings.HasPrefix(word, "."): // which would be a request
			lines.WriteString(`\&`)
		}
		lines.WriteString(word)
		at += 1 + len(word)
	}
	return row + "\n" + lines.String() + "\n"
}

// roff escapes a text for a man page.
func roff(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, `"`, `\(dq`).Replace(text)
}

func withCompletions(t *testing.T) (all string) {
	for _, shell := range slices.Sorted(maps.Keys(shells)) {
		all += "--- " + shell + "\n" + completion(t, shell)
	}
	return all
}

// shells says how each shell completes the value of a flag: one of some words (for which %s stands), a directory, a
// file or any text. In a script, LINES stands for what line returns for each flag, and FLAGS for all spellings of the
// flags.
var shells = map[string]struct {
	script, words, dir, file, any string
	line                          func(f *flag, names []string, usage, value string) string
}{
	"bash": {"", `COMPREPLY=($(compgen -W '%s' -- "$cur")); _ftpfetch_no_files; return`,
		`IFS=$'\n'; COMPREPLY=($(compgen -d -- "$cur")); _ftpfetch_no_files; return`, "return", "_ftpfetch_no_files; return", bashLine},
	"zsh": {"#compdef ftpfetch\n# Completion of ftpfetch for zsh: ftpfetch --help=zsh\n" + zshNames + "_arguments -s -S \\\nLINES\t'*:URL:_ftpfetch_names'\n",
		"(%s)", "_directories", "_files", " ", zshLine},
	"fish": {"# Completion of ftpfetch for fish: ftpfetch --help=fish\ncomplete -c ftpfetch -f\nLINES" + fishNames,
		" -x -a '%s'", " -x -a '(__fish_complete_directories)'", " -r -F", " -x", fishLine},
}

// zshNames and fishNames complete names on a server. They pass the line on standard input: it may hold a password,
// which an argument would show.
const (
	zshNames = `_ftpfetch_names() {
	local -a names
	names=(${(f)"$(print -rn -- "ftpfetch ${(j: :)words[2,CURRENT-1]} $PREFIX" | ftpfetch --complete 2>/dev/null)"})
	if (( $#names )); then
		compadd -Q -S '' -a names
	else
		_urls
	fi
}
`
	fishNames = `complete -c ftpfetch -n 'string match -q "*://*/*" -- (commandline -ct)' -a '(commandline -cp | ftpfetch --complete 2>/dev/null)'
`
)

// completion makes the script for a shell. The script for bash works with 3.2 or later. Where it offers nothing, "-o
// default" completes file names.
func completion(t *testing.T, shell string) string {
	c, all, lines := shells[shell], "", ""
	l := new(line)
	l.declare()
	for _, f := range l.flags {
		names := []string{"--" + f.name}
		if f.letter != "" {
			names = []string{"-" + f.letter, names[0]}
		}
		kind, value := f.value, c.any
		switch {
		case kind == "":
			value = ""
		case strings.Contains(kind, "|"): // ADDR is a placeholder, not one of the words
			value = fmt.Sprintf(c.words, strings.ReplaceAll(strings.TrimSuffix(kind, "|ADDR"), "|", " "))
		case kind == "FORM":
			value = fmt.Sprintf(c.words, "FORMS")
		case kind == "DIR":
			value = c.dir
		case kind == "FILE":
			value = c.file
		}
		all, lines = all+" "+strings.Join(names, " "), lines+c.line(f, names, f.plain(f.help), value)
	}
	if shell == "bash" {
		c.script = string(must.Get(os.ReadFile("testdata/completion.bash"))(t))
	}
	return strings.NewReplacer("LINES", lines, "FLAGS", all[1:]).Replace(c.script)
}

func bashLine(f *flag, names []string, _, value string) string {
	if value == "" {
		return ""
	}
	if f.bare() {
		value = fmt.Sprintf("if [[ $equals ]]; then %s; fi", value)
	}
	return fmt.Sprintf("\t%s) %s ;;\n", strings.Join(names, "|"), value)
}

func zshLine(f *flag, names []string, usage, value string) string {
	spelling := strings.Join(names, ",")
	usage = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "'", `'\''`).Replace(usage)
	if value != "" && f.bare() {
		both := fmt.Sprintf("'(%s)'", strings.Join(names, " "))
		long := names[len(names)-1]
		return fmt.Sprintf("\t%s%s'[%s]' \\\n\t%s%s=-'[%s]::%s:%s' \\\n", both, names[0], usage, both, long, usage, f.value, value)
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

func fishLine(f *flag, names []string, usage, value string) string {
	short := ""
	if len(names) > 1 {
		short = " -s " + f.letter
	}
	if f.bare() {
		value = strings.NewReplacer(" -x", "", " -r", "").Replace(value)
	}
	usage = strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(usage)
	return fmt.Sprintf("complete -c ftpfetch%s -l %s%s -d '%s'\n", short, f.name, value, usage)
}
