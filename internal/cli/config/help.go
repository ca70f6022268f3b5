package config

import (
	"cmp"
	"embed"
	"runtime"
	"runtime/debug"
	"strings"

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

// release is the version of a build from an archive of the source, which has no version control to tell it. Who
// packages ftpfetch sets it with
//
//	go build -ldflags '-X example.com/ftpfetch/internal/cli/config.release=v1.2.3'
var release string

// version returns what --version prints: the version, which between releases has the time and the commit in it, and the Go
// release and the system of the build.
func version() string {
	of := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		of = info.Main.Version
	}
	return "ftpfetch " + cmp.Or(release, of, "(devel)") + "\nbuilt by " + runtime.Version() + " for " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
}
