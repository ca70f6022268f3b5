package config

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// release is the version of a build from an archive of the source, which has no
// version control to tell it. Who packages ftpfetch sets it with
//
//	go build -ldflags '-X example.com/ftpfetch/internal/cli/config.release=v1.2.3'
var release string

// version returns what --version prints: the version, the commit if it is
// known, and the Go release and the system of the build.
func version() string {
	var tag string
	set := make(map[string]string)
	if info, ok := debug.ReadBuildInfo(); ok {
		tag = info.Main.Version
		for _, s := range info.Settings {
			set[s.Key] = s.Value
		}
	}
	text := "ftpfetch " + cmp.Or(release, tag, "(devel)") + "\n"
	if set["vcs.revision"] != "" {
		text += "commit " + set["vcs.revision"] + " of " + set["vcs.time"]
		if set["vcs.modified"] == "true" {
			text += ", modified"
		}
		text += "\n"
	}
	return text + "built by " + runtime.Version() + " for " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
}
