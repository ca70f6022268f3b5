package config

import (
	_ "embed"
	"strings"

	"example.com/ftpfetch/docs"
)

// helpText is the help, in which FLAGS and EXITS stand for the flags and the exit codes.
//
//go:embed help.txt
var helpText string

// Text returns what [Config.Print] asks for. exits is the list of exit codes.
func Text(print, exits string) string {
	switch print {
	case "help":
		flags := ""
		for _, group := range new(line).groups() {
			flags += "\n" + group.Name() + ":\n" + group.FlagUsagesWrapped(80)
		}
		return strings.NewReplacer("FLAGS", flags, "EXITS", exits).Replace(helpText)
	case "version":
		return version()
	case "man":
		return docs.Man
	}
	return completion(print)
}
