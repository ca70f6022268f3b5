//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// writeFiles writes the servers' configurations and the account files.
func (s *server) writeFiles() error {
	if err := os.MkdirAll(s.path("empty"), 0o755); err != nil {
		return err
	}
	files := map[string]string{
		"clear.conf":   s.config(clearPort, false),
		"tls.conf":     s.config(tlsPort, true),
		"passwd":       s.passwd(),
		"pam.d/vsftpd": "auth required pam_permit.so\naccount required pam_permit.so\n",
	}
	for name, text := range files {
		if err := writeFile(s.path(name), []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a file that every user may read, and its directory.
func writeFile(path string, contents []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, contents, 0o644)
}

// passwd returns the users of the servers. In a user namespace with one user they
// are all that one.
func (s *server) passwd() string {
	id := servedUser
	if s.anonymousOnly {
		id = 0
	}
	text := "root:x:0:0:root:/:/bin/sh\n"
	for _, name := range []string{"ftp", "nobody", userName} {
		text += fmt.Sprintf("%s:x:%d:%d::%s:/bin/sh\n", name, id, id, s.path("tree"))
	}
	return text
}

func (s *server) config(port int, tls bool) string {
	lines := []string{
		"listen=YES", "background=NO", fmt.Sprintf("listen_port=%d", port),
		"anonymous_enable=YES", "ftp_username=ftp", "nopriv_user=nobody", "anon_root=" + s.path("tree"),
		"secure_chroot_dir=" + s.path("empty"), "pam_service_name=vsftpd",
		// Sandboxes that not every kernel and container allows.
		"isolate=NO", "isolate_network=NO", "seccomp_sandbox=NO",
		"xferlog_enable=YES", "vsftpd_log_file=" + s.path(fmt.Sprintf("%d.log", port)),
	}
	if s.anonymousOnly {
		lines = append(lines, "run_as_launching_user=YES")
	} else {
		lines = append(lines, "local_enable=YES", "chroot_local_user=YES")
	}
	if tls {
		lines = append(lines, "ssl_enable=YES", "allow_anon_ssl=YES", "ssl_ciphers=HIGH", "debug_ssl=YES",
			// So that no client can go without it unnoticed.
			"force_local_logins_ssl=YES", "force_local_data_ssl=YES", "force_anon_logins_ssl=YES", "force_anon_data_ssl=YES",
			// wget cannot resume a TLS 1.3 session on the data connection.
			"require_ssl_reuse=NO", "rsa_cert_file="+s.path("server.pem"))
	}
	return strings.Join(lines, "\n") + "\n"
}
