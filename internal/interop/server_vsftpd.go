//go:build linux

package interop

import "fmt"

// configureVsftpd returns a vsftpd that confines anonymous users and the named one to their directories. The named user is
// a local user in vsftpd's terms: PAM checks it against st.accounts.
func configureVsftpd(st *site) program {
	text := st.vsftpdConf()
	if st.OnePort {
		port := st.freePort()
		text += lines("max_per_ip=1", fmt.Sprintf("pasv_min_port=%d", port), fmt.Sprintf("pasv_max_port=%d", port))
	}
	return program{argv: []string{st.installed("usr/sbin/vsftpd"), st.write("vsftpd.conf", text)}, env: st.environment(st.accounts()...)}
}

func (st *site) vsftpdConf() string {
	listen := []string{"listen=YES", "listen_address=" + st.host}
	if st.IPv6 {
		listen = []string{"listen_ipv6=YES", "listen_address6=" + st.host}
	}
	conf := lines(listen...) + lines(
		fmt.Sprintf("listen_port=%d", st.port), "background=NO",
		"anonymous_enable=YES", "ftp_username=ftp",
		"local_enable=YES", "chroot_local_user=YES",
		// Every Debian has the service "other", but not one for vsftpd.
		"pam_service_name=other", "session_support=NO",
		"secure_chroot_dir="+st.path("."),
		"xferlog_enable=NO", "max_per_ip=0", fmt.Sprintf("max_clients=%d", st.MaxClients),
		// A container may not be allowed to set up these sandboxes.
		"isolate=NO", "isolate_network=NO", "seccomp_sandbox=NO",
		// A wrong password need not be slow here (PAM still adds two seconds).
		"delay_failed_login=0",
	)
	if st.Idle > 0 {
		conf += lines(fmt.Sprintf("idle_session_timeout=%d", st.Idle))
	}
	if st.Implicit {
		conf += lines("implicit_ssl=YES")
	}
	if st.cert != "" {
		conf += st.vsftpdTLS()
	}
	return conf + lines(st.More...)
}

func (st *site) vsftpdTLS() string {
	return lines(
		"ssl_enable=YES", "rsa_cert_file="+st.cert, "rsa_private_key_file="+st.cert,
		"allow_anon_ssl=YES", "force_anon_logins_ssl=YES", "force_anon_data_ssl=YES",
		"force_local_logins_ssl=YES", "force_local_data_ssl=YES",
		"require_ssl_reuse=YES", "ssl_ciphers=HIGH",
	)
}
