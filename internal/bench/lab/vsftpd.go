//go:build linux

package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

const vsftpdFile = "usr/sbin/vsftpd"

// Vsftpd returns a vsftpd with the given lines in its configuration.
func (s *Site) Vsftpd(port int, more ...string) (*Server, error) {
	v, err := s.server(vsftpdFile, port)
	if err != nil {
		return nil, err
	}
	lines := []string{
		"listen=YES", "background=NO", fmt.Sprintf("listen_port=%d", port),
		"anonymous_enable=YES", "ftp_username=ftp", "nopriv_user=nobody", "anon_root=" + s.Path("tree"),
		"secure_chroot_dir=" + s.Path("empty"), "pam_service_name=vsftpd",
		// Sandboxes that not every kernel and container allows.
		"isolate=NO", "isolate_network=NO", "seccomp_sandbox=NO",
		"xferlog_enable=YES", "vsftpd_log_file=" + v.LogFile(),
	}
	if s.AnonymousOnly {
		lines = append(lines, "run_as_launching_user=YES")
	} else {
		lines = append(lines, "local_enable=YES", "chroot_local_user=YES")
	}
	v.args = []string{v.path("conf")}
	return v, WriteFile(v.path("conf"), []byte(strings.Join(append(lines, more...), "\n")+"\n"))
}

// VsftpdVersion returns the version that vsftpd prints, on file descriptor 0.
func (s *Site) VsftpdVersion(ctx context.Context) (string, error) {
	v, err := s.server(vsftpdFile, 0)
	if err != nil {
		return "", err
	}
	out, err := os.Create(s.Path("version.out"))
	if err != nil {
		return "", err
	}
	defer out.Close()
	cmd := exec.CommandContext(ctx, v.program, "-v")
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = out, out, out, v.environment()
	// Its exit code is the same with and without a failure.
	_ = cmd.Run()
	text, err := os.ReadFile(out.Name())
	return string(bytes.TrimSpace(text)), err
}
