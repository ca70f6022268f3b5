//go:build linux

package lab

import (
	"os"
	"path/filepath"

	"example.com/ftpfetch/internal/throwaway"
)

// CAFile is the certificate of the authority that vouches for the servers with
// TLS, in the site and in a work directory.
const CAFile = "ca.pem"

// VsftpdTLS returns a vsftpd that insists on explicit TLS, with a certificate for
// hosts that is valid for a day.
func (s *Site) VsftpdTLS(port int, hosts ...string) (*Server, error) {
	id, err := throwaway.New(hosts...)
	if err != nil {
		return nil, err
	}
	pem, err := id.ServerPEM()
	if err != nil {
		return nil, err
	}
	if err := WriteFile(s.Path(CAFile), id.RootPEM()); err != nil {
		return nil, err
	}
	if err := os.WriteFile(s.Path("server.pem"), pem, 0o600); err != nil {
		return nil, err
	}
	return s.Vsftpd(port,
		"ssl_enable=YES", "allow_anon_ssl=YES", "ssl_ciphers=HIGH", "debug_ssl=YES",
		// So that no client can go without it unnoticed.
		"force_local_logins_ssl=YES", "force_local_data_ssl=YES", "force_anon_logins_ssl=YES", "force_anon_data_ssl=YES",
		// wget cannot resume a TLS 1.3 session on the data connection.
		"require_ssl_reuse=NO", "rsa_cert_file="+s.Path("server.pem"))
}

// WorkDir makes an empty home directory below dir with a work directory in it,
// which holds only the authority's certificate.
func (s *Site) WorkDir(dir string) (home, work string, err error) {
	if home, err = os.MkdirTemp(dir, "run-"); err != nil {
		return "", "", err
	}
	work = filepath.Join(home, "work")
	ca, err := os.ReadFile(s.Path(CAFile))
	if err != nil {
		return "", "", err
	}
	return home, work, WriteFile(filepath.Join(work, CAFile), ca)
}
