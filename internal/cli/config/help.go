package config

import (
	"cmp"
	"embed"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

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
	script, _ := completions.ReadFile("completion/" + print)
	return string(script)
}

// completions are the scripts for shells, which TestCompletions writes.
//
//go:embed completion
var completions embed.FS

// description is what the help says of a flag. value stands for the value, or is "".
type description struct{ letter, value string }

// described returns the flags that the help describes, by their names. A line of it is
//
//	-n, --netrc[=FILE]          take the user too from ~/.netrc, or from FILE, if
var described = sync.OnceValue(func() map[string]description {
	all := make(map[string]description)
	for line := range strings.Lines(strings.Split(helpText, "---\n")[2]) {
		text := strings.TrimSpace(line)
		if indent := strings.Index(line, text); indent > 6 || !strings.HasPrefix(text, "-") {
			continue
		}
		flag, _, _ := strings.Cut(text, "  ")
		letter, long, _ := strings.Cut(flag, "--")
		name, value, _ := strings.Cut(strings.Replace(long, "[=FILE]", " FILE", 1), " ")
		all[name] = description{strings.Trim(letter, "-, "), value}
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
