//go:build linux

package interop

import (
	"fmt"
	"path/filepath"
)

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
	return lines(
		"ModulePath "+modules, "LoadModule mod_tls.c",
		"TLSEngine on", "TLSRequired on", "TLSProtocol TLSv1.2 TLSv1.3",
		"TLSECCertificateFile "+st.cert, "TLSECCertificateKeyFile "+st.cert,
		"TLSVerifyClient off", "TLSRenegotiate none", "TLSLog "+st.path("tls.log"),
	)
}
