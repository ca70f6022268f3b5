package config

import (
	"cmp"
	_ "embed"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"example.com/ftpfetch/docs"
)

// helpText is the help in three parts: its beginning, what only -h prints then, and what only --help prints. The last one
// is also the one table of the flags.
//
//go:embed help.txt
var helpText string

// Text returns what [Config.Print] asks for.
func Text(print string) string {
	parts := strings.Split(helpText, "---\n")
	switch print {
	case "short":
		return parts[0] + parts[1]
	case "help":
		return parts[0] + parts[2]
	case "version":
		return version()
	case "man":
		return docs.Man
	}
	return completion(print)
}

// description is what the help says of a flag. value stands for the value, or is "".
type description struct{ letter, value, usage string }

// described returns the flags that the help describes, by their names. Two lines of it are
//
//	-n, --netrc[=FILE]          take the user too from ~/.netrc, or from FILE, if
//	                            the URL names none; =none ignores the netrc file
var described = sync.OnceValue(func() map[string]description {
	all, name := make(map[string]description), ""
	for line := range strings.Lines(strings.Split(helpText, "---\n")[2]) {
		text := strings.TrimSpace(line)
		d := all[name]
		switch indent := strings.Index(line, text); {
		case indent > 6:
			d.usage = strings.TrimSpace(d.usage + " " + text)
		case strings.HasPrefix(text, "-"):
			flag, usage, _ := strings.Cut(text, "  ")
			letter, long, _ := strings.Cut(flag, "--")
			d = description{letter: strings.Trim(letter, "-, "), usage: strings.TrimSpace(usage)}
			name, d.value, _ = strings.Cut(strings.Replace(long, "[=FILE]", " FILE", 1), " ")
		default:
			continue
		}
		all[name] = d
	}
	return all
})

// release is the version of a build from an archive of the source, which has no version control to tell it. Who
// packages ftpfetch sets it with
//
//	go build -ldflags '-X example.com/ftpfetch/internal/cli/config.release=v1.2.3'
var release string

// version returns what --version prints: the version, the commit if it is known, and the Go release and the system of
// the build.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	set := make(map[string]string)
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	text := "ftpfetch " + cmp.Or(release, info.Main.Version, "(devel)")
	if set["vcs.revision"] != "" {
		text += "\ncommit " + set["vcs.revision"] + " of " + set["vcs.time"]
	}
	if set["vcs.modified"] == "true" {
		text += ", modified"
	}
	return text + "\nbuilt by " + runtime.Version() + " for " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
}

// bashScript is for bash 3.2 or later. If it offers nothing, -o default completes file names.
//
//go:embed completion.bash
var bashScript string

// shells says how each shell completes the value of a flag: one of some words, which stand for %s, a directory, a file,
// or any text. In the script LINES stands for what line returns for each flag, and FLAGS for the spellings of all.
var shells = map[string]struct {
	script, words, dir, file, any string
	line                          func(f *pflag.Flag, names []string, usage, value string) string
}{
	"bash": {bashScript, `COMPREPLY=($(compgen -W '%s' -- "$cur")); return`, `IFS=$'\n'; COMPREPLY=($(compgen -d -- "$cur")); return`, "return", "return", bashLine},
	"zsh": {"#compdef ftpfetch\n# Completion of ftpfetch for zsh: ftpfetch --print zsh\n_arguments -s -S \\\nLINES\t'*:URL:_urls'\n",
		"(%s)", "_directories", "_files", " ", zshLine},
	"fish": {"# Completion of ftpfetch for fish: ftpfetch --print fish\ncomplete -c ftpfetch -f\nLINES",
		" -x -a '%s'", " -x -a '(__fish_complete_directories)'", " -r -F", " -x", fishLine},
}

// completion returns the script for a shell.
func completion(shell string) string {
	c, all, lines := shells[shell], "", ""
	new(line).flags().VisitAll(func(f *pflag.Flag) {
		names := []string{"--" + f.Name}
		if f.Shorthand != "" {
			names = []string{"-" + f.Shorthand, names[0]}
		}
		kind, value := placeholder(f), c.any
		switch {
		case kind == "" || f.NoOptDefVal != "":
			value = ""
		case strings.Contains(kind, "|"):
			value = fmt.Sprintf(c.words, strings.ReplaceAll(kind, "|", " "))
		case kind == "DIR":
			value = c.dir
		case kind == "FILE":
			value = c.file
		}
		all, lines = all+" "+strings.Join(names, " "), lines+c.line(f, names, f.Usage, value)
	})
	return strings.NewReplacer("LINES", lines, "FLAGS", all[1:]).Replace(c.script)
}

func bashLine(_ *pflag.Flag, names []string, _, value string) string {
	if value == "" {
		return ""
	}
	return fmt.Sprintf("\t%s) %s ;;\n", strings.Join(names, "|"), value)
}

func zshLine(f *pflag.Flag, names []string, usage, value string) string {
	spelling := strings.Join(names, ",")
	if value != "" {
		spelling = strings.Join(names, "+,") + "="
		value = ":" + strings.ReplaceAll(placeholder(f), ":", `\:`) + ":" + value
	}
	if len(names) > 1 {
		spelling = fmt.Sprintf("'(%s)'{%s}", strings.Join(names, " "), spelling)
	}
	usage = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "'", `'\''`).Replace(usage)
	return fmt.Sprintf("\t%s'[%s]%s' \\\n", spelling, usage, value)
}

func fishLine(f *pflag.Flag, names []string, usage, value string) string {
	short := ""
	if len(names) > 1 {
		short = " -s " + f.Shorthand
	}
	usage = strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(usage)
	return fmt.Sprintf("complete -c ftpfetch%s -l %s%s -d '%s'\n", short, f.Name, value, usage)
}
