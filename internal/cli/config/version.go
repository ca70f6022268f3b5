package config

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"
)

// release is the version of a build from an archive of the source, which has no
// version control to tell it. Who packages ftpfetch sets it with
//
//	go build -ldflags '-X example.com/ftpfetch/internal/cli/config.release=v1.2.3'
var release string

// version returns what --version prints: the version, the commit if it is
// known, and the Go release and the system of the build.
func version() string {
	var tag, revision, time, modified string
	if info, ok := debug.ReadBuildInfo(); ok {
		tag = info.Main.Version
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				revision = s.Value
			case "vcs.time":
				time = s.Value
			case "vcs.modified":
				modified = s.Value
			}
		}
	}
	var b strings.Builder
	b.WriteString("ftpfetch " + cmp.Or(release, tag, "(devel)") + "\n")
	if revision != "" {
		b.WriteString("commit " + revision + " of " + time)
		if modified == "true" {
			b.WriteString(", modified")
		}
		b.WriteString("\n")
	}
	b.WriteString("built by " + runtime.Version() + " for " + runtime.GOOS + "/" + runtime.GOARCH + "\n")
	return b.String()
}
