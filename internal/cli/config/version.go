package config

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

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
