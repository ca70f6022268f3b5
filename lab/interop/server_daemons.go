//go:build linux

package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

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

// configureProftpd returns a proftpd with passwd and group files of its own.
func configureProftpd(st *site) program {
	text := st.proftpdConf(st.write("passwd", st.passwd()), st.write("group", st.groups()))
	if st.cert != "" {
		text = st.proftpdTLS(filepath.Dir(st.installed("usr/lib/proftpd/mod_tls.so"))) + text
	}
	if st.Implicit {
		text += lines("TLSOptions UseImplicitSSL")
	}
	if st.MaxClients > 0 {
		text += lines("ScoreboardFile "+st.path("scoreboard"), fmt.Sprintf("MaxClients %d", st.MaxClients))
	}
	if st.Idle > 0 {
		text += lines(fmt.Sprintf("TimeoutIdle %d", st.Idle))
	}
	text += lines(st.More...)
	return program{argv: []string{st.installed("usr/sbin/proftpd"), "--nodaemon", "--quiet", "--config", st.write("proftpd.conf", text)}, env: st.environment()}
}

func (st *site) proftpdConf(users, groups string) string {
	return lines(
		`ServerName "interop"`, "ServerType standalone",
		"DefaultAddress "+st.host, "SocketBindTight on", fmt.Sprintf("UseIPv6 %v", st.IPv6),
		fmt.Sprintf("Port %d", st.port),
		"User nobody", "Group nogroup",
		"AuthOrder mod_auth_file.c", "AuthUserFile "+users, "AuthGroupFile "+groups,
		"RequireValidShell off", "DefaultRoot ~",
		"PidFile "+st.path("pid"), "ScoreboardFile none",
		"UseReverseDNS off", "DelayEngine off",
		"WtmpLog off", "TransferLog none", "SystemLog none",
		"<Anonymous "+st.tree.Public+">",
		"User ftp", "Group nogroup", "UserAlias anonymous ftp", "RequireValidShell off",
		"</Anonymous>",
	)
}

// proftpdTLS leaves TLSOptions alone: without NoSessionReuseRequired, data connections must resume the session of their
// control connection.
func (st *site) proftpdTLS(modules string) string {
	protocols := "TLSProtocol TLSv1.2 TLSv1.3"
	if st.NoTLS13 {
		protocols = "TLSProtocol TLSv1.2"
	}
	renegotiate := "TLSRenegotiate none"
	if st.Renegotiate > 0 {
		renegotiate = fmt.Sprintf("TLSRenegotiate data %d required on timeout 5", st.Renegotiate)
	}
	return lines(
		"ModulePath "+modules, "LoadModule mod_tls.c",
		"TLSEngine on", "TLSRequired on", protocols,
		"TLSECCertificateFile "+st.cert, "TLSECCertificateKeyFile "+st.cert,
		"TLSVerifyClient off", renegotiate, "TLSLog "+st.path("tls.log"),
	)
}

// configurePureFTPd returns a pure-ftpd whose named user is a virtual one, in a puredb. Anonymous users need an account
// named ftp, which the harness makes up.
func configurePureFTPd(st *site) program {
	env := st.environment(st.accounts()...)
	db := st.pureDB(env)
	return program{argv: append([]string{st.installed("usr/sbin/pure-ftpd")}, st.pureFlags(db)...), env: env}
}

func (st *site) pureFlags(db string) []string {
	flags := []string{
		"-S", fmt.Sprintf("%s,%d", st.host, st.port),
		"-l", "puredb:" + db,
		"-A",                            // confine all users to their home directories
		"-H",                            // do not use DNS
		"-u", "1", "-g", st.path("pid"), // user ids from 1 up may log in
	}
	if !st.IPv6 {
		flags = append(flags, "-4")
	}
	if st.MaxClients > 0 {
		flags = append(flags, "-c", strconv.Itoa(st.MaxClients))
	}
	if st.MaxListing > 0 {
		flags = append(flags, "-L", fmt.Sprintf("%d:5", st.MaxListing))
	}
	if st.cert != "" {
		flags = append(flags, "-2", st.cert, "-Y", "3") // TLS for logins and data, or nothing
	}
	return append(flags, st.More...)
}

// pureDB makes a database of the virtual user.
func (st *site) pureDB(env []string) string {
	line := fmt.Sprintf("%s:%s:%d:%d::%s/./::::::::::::", UserName, userHash, nobody, nobody, st.tree.Home)
	db := st.path("pureftpd.pdb")
	mkdb := exec.Command(st.installed("usr/bin/pure-pw"), "mkdb", db, "-f", st.write("pureftpd.passwd", lines(line)))
	mkdb.Env = env
	if out, err := mkdb.CombinedOutput(); err != nil {
		st.fails(fmt.Errorf("%v: %w: %s", mkdb.Args, err, out))
	}
	return db
}

// configureGlobus returns a GridFTP server that also serves plain FTP, confined to the public directory.
func configureGlobus(st *site) program {
	// Inside its root the server must still find its own address, by its name.
	name, err := os.Hostname()
	st.fails(err)
	hosts := st.write("hosts", lines(st.host+" localhost "+name))
	binary := st.installed("usr/sbin/globus-gridftp-server")
	argv := []string{
		binary, "-exec", binary, "-p", strconv.Itoa(st.port),
		"-control-interface", st.host, "-data-interface", st.host,
		"-aa", "-anonymous-user", "nobody", "-anonymous-group", "nogroup",
		"-chroot-path", st.tree.Public, "-home-dir", "/",
	}
	if st.MaxClients > 0 {
		argv = append(argv, "-connections-max", fmt.Sprint(st.MaxClients))
	}
	if st.Idle > 0 {
		argv = append(argv, "-control-idle-timeout", fmt.Sprint(st.Idle))
	}
	return program{argv: argv, env: st.environment(append(st.accounts(), "NSS_WRAPPER_HOSTS="+hosts)...)}
}
