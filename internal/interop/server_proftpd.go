//go:build linux

package interop

import (
	"fmt"
	"path/filepath"
)

// configureProftpd returns a proftpd with passwd and group files of its own.
func configureProftpd(st *site) (program, error) {
	env, err := environment()
	if err != nil {
		return program{}, err
	}
	tls, err := installed("usr/lib/proftpd/mod_tls.so")
	if err != nil {
		return program{}, err
	}
	conf, err := st.proftpdFiles(filepath.Dir(tls))
	if err != nil {
		return program{}, err
	}
	binary, err := installed("usr/sbin/proftpd")
	return program{argv: []string{binary, "--nodaemon", "--quiet", "--config", conf}, env: env}, err
}

func (st *site) proftpdFiles(modules string) (conf string, err error) {
	users, err := st.write("passwd", st.passwd())
	if err != nil {
		return "", err
	}
	groups, err := st.write("group", st.groups())
	if err != nil {
		return "", err
	}
	text := st.proftpdConf(users, groups)
	if st.cert != "" {
		text = st.proftpdTLS(modules) + text
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
	return st.write("proftpd.conf", text)
}

func (st *site) proftpdConf(users, groups string) string {
	return lines(
		`ServerName "interop"`, "ServerType standalone",
		"DefaultAddress "+st.host, "SocketBindTight on", "UseIPv6 "+onOff(st.IPv6),
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

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// proftpdTLS leaves TLSOptions alone: without NoSessionReuseRequired, data
// connections must resume the session of their control connection.
func (st *site) proftpdTLS(modules string) string {
	return lines(
		"ModulePath "+modules, "LoadModule mod_tls.c",
		"TLSEngine on", "TLSRequired on", "TLSProtocol TLSv1.2 TLSv1.3",
		"TLSECCertificateFile "+st.cert, "TLSECCertificateKeyFile "+st.cert,
		"TLSVerifyClient off", "TLSRenegotiate none", "TLSLog "+st.path("tls.log"),
	)
}
