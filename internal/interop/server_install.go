//go:build linux

package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// installDir is where install.sh unpacks the servers.
func installDir() (string, error) {
	if dir := os.Getenv("FTPFETCH_INTEROP_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "ftpfetch-interop"), err
}

// installed returns the path of an unpacked file, given from the root of the
// Debian package that holds it. One "*" may stand for a directory whose name
// depends on the architecture.
func installed(file string) (string, error) {
	dir, err := installDir()
	if err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(dir, "root", file))
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("%s is not in %s: run internal/interop/install.sh", file, dir)
	}
	return found[0], nil
}

// environment returns the whole environment of a server: where its libraries
// are, and nothing that would make its answers differ between machines.
func environment(more ...string) ([]string, error) {
	usr, err := installed("usr/lib/*-linux-gnu")
	if err != nil {
		return nil, err
	}
	lib, err := installed("lib/*-linux-gnu")
	env := []string{
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "TZ=UTC",
		"LD_LIBRARY_PATH=" + usr + ":" + lib,
	}
	return append(env, more...), err
}

// lines joins the lines of a configuration file.
func lines(l ...string) string { return strings.Join(l, "\n") + "\n" }
