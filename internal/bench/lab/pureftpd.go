//go:build linux

package lab

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
)

const pureFTPdFile = "usr/sbin/pure-ftpd"

// PureFTPd returns a pure-ftpd for anonymous users, with more flags.
func (s *Site) PureFTPd(port int, more ...string) (*Server, error) {
	p, err := s.server(pureFTPdFile, port)
	if err != nil {
		return nil, err
	}
	p.args = append([]string{"-4", "-S", fmt.Sprint(port), "-e", "-H", "-u", "1", "-g", p.path("pid")}, more...)
	return p, nil
}

// PureFTPdVersion returns the version that pure-ftpd prints with its help.
func (s *Site) PureFTPdVersion(ctx context.Context) (string, error) {
	p, err := s.server(pureFTPdFile, 0)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, p.program, "--help")
	cmd.Env = p.environment()
	out, err := cmd.CombinedOutput()
	line, _, _ := bytes.Cut(out, []byte("\n"))
	return string(bytes.TrimSpace(line)), err
}
