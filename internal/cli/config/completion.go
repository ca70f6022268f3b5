package config

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// completions maps each shell to the function that writes its script.
var completions = map[string]func([]completable) string{
	"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion,
}

// completion returns the script for a shell.
func completion(shell string) string {
	var flags []completable
	for _, g := range new(line).groups() {
		g.VisitAll(func(f *pflag.Flag) { flags = append(flags, newCompletable(f)) })
	}
	return completions[shell](flags)
}

// completable is what a shell knows about a flag. value is the name of the
// flag's value, "" if it takes none: FILE and DIR are completed as such. If
// choices is set, the value is one of them.
type completable struct {
	long, short, usage, value string
	choices                   []string
}

func newCompletable(f *pflag.Flag) completable {
	c := completable{long: "--" + f.Name}
	if f.Shorthand != "" {
		c.short = "-" + f.Shorthand
	}
	c.value, c.usage = pflag.UnquoteUsage(f)
	if f.NoOptDefVal != "" {
		c.value = ""
	}
	if strings.Contains(c.value, "|") {
		c.choices = strings.Split(c.value, "|")
	}
	return c
}

// names returns the flag's spellings, separated by sep.
func (c completable) names(sep string) string {
	if c.short == "" {
		return c.long
	}
	return c.short + sep + c.long
}

// complete returns how a shell completes the flag's value: one of some words, which
// stand for %s, a directory, a file, or any text. It returns "" if there is none.
func (c completable) complete(words, dir, file, any string) string {
	switch {
	case c.choices != nil:
		return fmt.Sprintf(words, strings.Join(c.choices, " "))
	case c.value == "DIR":
		return dir
	case c.value == "FILE":
		return file
	case c.value == "":
		return ""
	}
	return any
}

// bashCompletion returns a script for bash 3.2 or later. If the script offers
// nothing, -o default completes file names.
func bashCompletion(flags []completable) string {
	var all []string
	var values strings.Builder
	for _, c := range flags {
		all = append(all, c.names(" "))
		if c.value != "" {
			fmt.Fprintf(&values, "\t%s) %s ;;\n", c.names("|"), c.complete(`COMPREPLY=($(compgen -W '%s' -- "$cur")); return`,
				`IFS=$'\n'; COMPREPLY=($(compgen -d -- "$cur")); return`, "return", "return"))
		}
	}
	return fmt.Sprintf(`# Completion of ftpfetch for bash: ftpfetch --print bash
_ftpfetch() {
	local IFS=$' \t\n' cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	COMPREPLY=()
	if [[ $cur == = ]]; then
		cur=
	elif [[ $prev == = && $COMP_CWORD -gt 1 ]]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	case $prev in
%s	esac
	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W '%s' -- "$cur"))
	fi
}
complete -o default -F _ftpfetch ftpfetch
`, values.String(), strings.Join(all, " "))
}

func zshCompletion(flags []completable) string {
	var b strings.Builder
	b.WriteString("#compdef ftpfetch\n# Completion of ftpfetch for zsh: ftpfetch --print zsh\n_arguments -s -S \\\n")
	for _, c := range flags {
		usage := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "'", `'\''`).Replace(c.usage)
		long, short := c.long, c.short
		if c.value != "" {
			long, short = long+"=", short+"+"
		}
		spelling := long
		if c.short != "" {
			spelling = fmt.Sprintf("'(%s)'{%s,%s}", c.names(" "), short, long)
		}
		value := ":" + strings.ReplaceAll(c.value, ":", `\:`) + ":"
		fmt.Fprintf(&b, "\t%s'[%s]%s' \\\n", spelling, usage, c.complete(value+"(%s)", value+"_directories", value+"_files", value+" "))
	}
	b.WriteString("\t'*:URL:_urls'\n")
	return b.String()
}

func fishCompletion(flags []completable) string {
	var b strings.Builder
	b.WriteString("# Completion of ftpfetch for fish: ftpfetch --print fish\ncomplete -c ftpfetch -f\n")
	quote := strings.NewReplacer(`\`, `\\`, "'", `\'`)
	for _, c := range flags {
		b.WriteString("complete -c ftpfetch")
		if c.short != "" {
			b.WriteString(" -s " + c.short[1:])
		}
		fmt.Fprintf(&b, " -l %s%s -d '%s'\n", c.long[2:], c.complete(" -x -a '%s'", " -x -a '(__fish_complete_directories)'", " -r -F", " -x"), quote.Replace(c.usage))
	}
	return b.String()
}
