package config

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// bashScript is for bash 3.2 or later. If it offers nothing, -o default completes file names. VALUES stands for the
// flags with a value, and FLAGS for all of them.
//
//go:embed completion.bash
var bashScript string

// completion returns the script for a shell.
func completion(shell string) string {
	var all []string
	lines := ""
	write := map[string]func(completable) string{"bash": completable.bash, "zsh": completable.zsh, "fish": completable.fish}[shell]
	for _, g := range new(line).groups() {
		g.VisitAll(func(f *pflag.Flag) {
			c := newCompletable(f)
			all, lines = append(all, c.names...), lines+write(c)
		})
	}
	switch shell {
	case "bash":
		return strings.NewReplacer("VALUES", lines, "FLAGS", strings.Join(all, " ")).Replace(bashScript)
	case "zsh":
		return "#compdef ftpfetch\n# Completion of ftpfetch for zsh: ftpfetch --print zsh\n_arguments -s -S \\\n" + lines + "\t'*:URL:_urls'\n"
	}
	return "# Completion of ftpfetch for fish: ftpfetch --print fish\ncomplete -c ftpfetch -f\n" + lines
}

// completable is what a shell knows about a flag. value stands for the flag's value, if it needs one.
type completable struct {
	names        []string // -o, --output
	usage, value string
}

func newCompletable(f *pflag.Flag) (c completable) {
	if f.Shorthand != "" {
		c.names = []string{"-" + f.Shorthand}
	}
	c.names = append(c.names, "--"+f.Name)
	if c.value, c.usage = pflag.UnquoteUsage(f); f.NoOptDefVal != "" {
		c.value = ""
	}
	return c
}

// complete returns how a shell completes the flag's value: one of some words, which stand for %s, a directory, a
// file, or any text. It returns "" if there is none.
func (c completable) complete(words, dir, file, any string) string {
	switch {
	case strings.Contains(c.value, "|"):
		return fmt.Sprintf(words, strings.ReplaceAll(c.value, "|", " "))
	case c.value == "DIR":
		return dir
	case c.value == "FILE":
		return file
	case c.value == "":
		return ""
	}
	return any
}

func (c completable) bash() string {
	if c.value == "" {
		return ""
	}
	return fmt.Sprintf("\t%s) %s ;;\n", strings.Join(c.names, "|"), c.complete(`COMPREPLY=($(compgen -W '%s' -- "$cur")); return`,
		`IFS=$'\n'; COMPREPLY=($(compgen -d -- "$cur")); return`, "return", "return"))
}

func (c completable) zsh() string {
	usage := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "'", `'\''`).Replace(c.usage)
	spelling := strings.Join(c.names, ",")
	if c.value != "" {
		spelling = strings.Join(c.names, "+,") + "="
	}
	if len(c.names) > 1 {
		spelling = fmt.Sprintf("'(%s)'{%s}", strings.Join(c.names, " "), spelling)
	}
	value := ":" + strings.ReplaceAll(c.value, ":", `\:`) + ":"
	return fmt.Sprintf("\t%s'[%s]%s' \\\n", spelling, usage, c.complete(value+"(%s)", value+"_directories", value+"_files", value+" "))
}

func (c completable) fish() string {
	text := "complete -c ftpfetch"
	for _, name := range c.names {
		if long, ok := strings.CutPrefix(name, "--"); ok {
			text += " -l " + long
		} else {
			text += " -s " + name[1:]
		}
	}
	quote := strings.NewReplacer(`\`, `\\`, "'", `\'`)
	return fmt.Sprintf("%s%s -d '%s'\n", text, c.complete(" -x -a '%s'", " -x -a '(__fish_complete_directories)'", " -r -F", " -x"), quote.Replace(c.usage))
}
