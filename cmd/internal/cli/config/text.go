package config

import (
	"cmp"
	_ "embed"
	"runtime"
	"runtime/debug"
	"strings"

	"example.com/ftpfetch/docs"
	"example.com/ftpfetch/download/manifest"
)

// helpText is the help in three parts: the common beginning, the rest of -h, and the rest of --help. FORMS stands for
// the forms of lists, which package manifest knows. TestGenerated makes the rows of flags from their table.
//
//go:embed help.txt
var helpText string

// release is the version of a build from an archive, which has no version control data. Packagers set it:
//
//	go build -ldflags '-X example.com/ftpfetch/cmd/internal/cli/config.release=v1.2.3'
var release string

// Text returns the text that [Config.Print] names.
func Text(print string) string {
	parts := strings.Split(helpText, "---\n")
	switch print {
	case "short":
		return parts[0] + parts[1]
	case "help":
		return withForms(parts[0] + parts[2])
	case "version":
		of := "" // version between releases includes the time and the commit
		if info, ok := debug.ReadBuildInfo(); ok {
			of = info.Main.Version
		}
		return "ftpfetch " + cmp.Or(release, of, "(devel)") +
			"\nbuilt by " + runtime.Version() + " for " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
	case "man":
		return docs.Man
	}
	return completion(print)
}

func withForms(text string) string {
	return strings.ReplaceAll(text, "FORMS", strings.Join(manifest.Formats(), " "))
}
