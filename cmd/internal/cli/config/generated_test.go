package config

import (
	stdflag "flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
)

var update = stdflag.Bool("update", false, "write the help and the man page")

// page is the man page.
const page = "../../../../docs/ftpfetch.1"

// coming is the page about other programs.
const coming = "../../../../docs/coming-from.md"

// TestGenerated compares the help, the options of the man page, and what the page about other programs says of their
// flags with the tables. With -update it writes them.
func TestGenerated(t *testing.T) {
	for file, want := range map[string]string{
		"help.txt": withHelp(t),
		page:       withOptions(t),
		coming:     withAdvice(t),
	} {
		if *update {
			must.Do(t, os.WriteFile(file, []byte(want), 0o666))
		}
		if got := text(t, file); got != want {
			t.Errorf("%s is not what the tables say: "+
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

// withAdvice returns the page about other programs with a row for each of advised.
func withAdvice(t *testing.T) string {
	rows := ""
	for _, a := range advised {
		rows += "| `" + strings.Join(strings.Fields(a.spelling), "`, `") + "` | " + regexp.MustCompile(code).ReplaceAllString(a.write, "`$0`") + " |\n"
	}
	return between(t, text(t, coming), "| typed | write |\n|---|---|\n", "\nIf ", rows)
}

// code matches what is typed.
const code = `--?[a-zA-Z][a-z-]*(=excluded)?( (URL/?|DIR|NAME|PATTERN|LIST|FILE|RATE|N|url=1|json|/NAME/|'[^']*'))*( <FILE)?|ftp://\S*[^,;.\s]|2>>FILE|NO_PROXY|http://\S*|sha256:HEX`

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
	for word := range strings.FieldsSeq(f.fill(text)) {
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
	says := strings.Replace(f.fill(f.help), ": FORMS", "; ftpfetch --help names the forms", 1)
	if f.more != "" {
		says += ". " + f.fill(f.more)
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

// TestCompletions checks that the script for each shell has all flags, one line for each.
func TestCompletions(t *testing.T) {
	for name, line := range map[string]string{
		"bash": "[ ']--%s[ ']",
		"zsh":  `(?m)^\t\S*( \S*)?--%s\b.*\[`,
		"fish": "(?m)^complete -c ftpfetch.* -l %s ",
	} {
		for _, f := range read(nil, "").flags {
			if !regexp.MustCompile(fmt.Sprintf(line, f.name)).MatchString(Text(name)) {
				t.Errorf("the script for %s has no line for --%s", name, f.name)
			}
		}
		if regexp.MustCompile("LINES|FLAGS|FORMS|DEFAULT").MatchString(Text(name)) {
			t.Errorf("the script for %s has a mark that stands for something else", name)
		}
	}
}
