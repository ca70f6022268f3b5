//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// packages are the programs to compare with, and their packages on Debian. GNU time measures memory.
var packages = map[string]string{
	"curl": "curl", "wget": "wget", "lftp": "lftp", "aria2c": "aria2", "ncftpget": "ncftp", "tnftp": "tnftp", "rclone": "rclone", "time": "time",
}

// install installs the clients and servers that are missing, as root on Debian. Elsewhere the reports are without them.
// It returns the directory of the module.
func install(ctx context.Context, stderr io.Writer) (root string, err error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w (run it in the module)", err)
	}
	root = string(bytes.TrimSpace(out))
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return root, nil
	}
	missing := []string{"-o", "DPkg::Lock::Timeout=600", "install", "-q", "-y", "--no-install-recommends"}
	options := len(missing)
	for program, name := range packages {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, name)
		}
	}
	commands := [][]string{{filepath.Join(root, "internal/interop/install.sh")}}
	if len(missing) > options {
		commands = append(commands, []string{"apt-get", "update", "-q"}, append([]string{"apt-get"}, missing...))
	}
	for _, words := range commands {
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.Stdout, cmd.Stderr = stderr, stderr
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("%s: %w", words[0], err)
		}
	}
	return root, nil
}
