package config

import (
	stdflag "flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/rules/must"
)

var update = stdflag.Bool("update", false, "write the scripts of completion")

// TestCompletions checks that the scripts complete the flags that there are. With -update it writes them.
func TestCompletions(t *testing.T) {
	for shell := range shells {
		want := completion(t, shell)
		if *update {
			must.Do(t, os.WriteFile("completion/"+shell, []byte(want), 0o666))
		} else if Text(shell) != want {
			t.Errorf("the completion of %s is old: go test ./internal/cli/config -run TestCompletions -update", shell)
		}
	}
}

// shells says how each shell completes the value of a flag: one of some words, which stand for %s, a directory, a file,
// or any text. In the script LINES stands for what line returns for each flag, and FLAGS for the spellings of all.
var shells = map[string]struct {
	script, words, dir, file, any string
	line                          func(f flag, names []string, usage, value string) string
}{
	"bash": {"", `COMPREPLY=($(compgen -W '%s' -- "$cur")); return`, `IFS=$'\n'; COMPREPLY=($(compgen -d -- "$cur")); return`, "return", "return", bashLine},
	"zsh": {"#compdef ftpfetch\n# Completion of ftpfetch for zsh: ftpfetch --help=zsh\n_arguments -s -S \\\nLINES\t'*:URL:_urls'\n",
		"(%s)", "_directories", "_files", " ", zshLine},
	"fish": {"# Completion of ftpfetch for fish: ftpfetch --help=fish\ncomplete -c ftpfetch -f\nLINES",
		" -x -a '%s'", " -x -a '(__fish_complete_directories)'", " -r -F", " -x", fishLine},
}

// completion makes the script for a shell. That for bash is for 3.2 or later: if it offers nothing, -o default completes
// file names.
func completion(t *testing.T, shell string) string {
	c, all, lines := shells[shell], "", ""
	for _, f := range flags() {
		names := []string{"--" + f.name}
		if f.letter != "" {
			names = []string{"-" + f.letter, names[0]}
		}
		kind, value := f.value, c.any
		switch {
		case f.bare:
			value = ""
		case strings.Contains(kind, "|"):
			value = fmt.Sprintf(c.words, strings.ReplaceAll(kind, "|", " "))
		case kind == "DIR":
			value = c.dir
		case kind == "FILE":
			value = c.file
		}
		all, lines = all+" "+strings.Join(names, " "), lines+c.line(f, names, usage(f), value)
	}
	if shell == "bash" {
		c.script = string(must.Get(os.ReadFile("testdata/completion.bash"))(t))
	}
	return strings.NewReplacer("LINES", lines, "FLAGS", all[1:]).Replace(c.script)
}

// usage returns what the help says of a flag, whose lines after the first are indented.
func usage(f flag) string {
	found := regexp.MustCompile(`(?m)^ +(?:-., )?--` + f.name + `\b.*?(?: {2,}|\n {9,})(.*(?:\n {9,}.*)*)`).FindStringSubmatch(helpText[strings.LastIndex(helpText, "---\n"):])
	return strings.Join(strings.Fields(append(found, "", "")[1]), " ")
}

func bashLine(_ flag, names []string, _, value string) string {
	if value == "" {
		return ""
	}
	return fmt.Sprintf("\t%s) %s ;;\n", strings.Join(names, "|"), value)
}

func zshLine(f flag, names []string, usage, value string) string {
	spelling := strings.Join(names, ",")
	if value != "" {
		spelling = strings.Join(names, "+,") + "="
		value = ":" + strings.ReplaceAll(f.value, ":", `\:`) + ":" + value
	}
	if len(names) > 1 {
		spelling = fmt.Sprintf("'(%s)'{%s}", strings.Join(names, " "), spelling)
	}
	usage = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "'", `'\''`).Replace(usage)
	return fmt.Sprintf("\t%s'[%s]%s' \\\n", spelling, usage, value)
}

func fishLine(f flag, names []string, usage, value string) string {
	short := ""
	if len(names) > 1 {
		short = " -s " + f.letter
	}
	usage = strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(usage)
	return fmt.Sprintf("complete -c ftpfetch%s -l %s%s -d '%s'\n", short, f.name, value, usage)
}
