//go:build linux

package interop

import (
	_ "embed"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// The relays, which pass the commands of their clients on to another server (Options.Upstream).
const (
	SuSEProxy Kind = "ftp-proxy" // SuSE's proxy-suite
	ModProxy  Kind = "mod_proxy" // of proftpd
)

// The small servers of npm, which anyone may enter.
const (
	FtpSrv   Kind = "ftp-srv"
	Nodeftpd Kind = "ftpd"
)

// others are servers and relays that [TestServers] does not measure: few of the other tests suit them.
var others = []flavour{
	{kind: SuSEProxy, pkg: "ftp-proxy", configure: configureSuSEProxy, banner: "FTP server (Version"},
	{kind: ModProxy, pkg: "proftpd-mod-proxy", configure: configureModProxy, banner: "220"},
	{kind: FtpSrv, configure: node(ftpSrvServer), banner: "220"},
	{kind: Nodeftpd, configure: node(nodeftpdServer), banner: "nodeftpd"},
}

// configureSuSEProxy returns a proxy with one server behind it. It says in its greeting that the server's name is its own.
func configureSuSEProxy(st *site) program {
	host, port, err := net.SplitHostPort(st.Upstream)
	st.fails(err)
	conf := st.write("ftp-proxy.conf", lines("[-Global-]", "DestinationAddress "+host, "DestinationPort "+port,
		"Listen "+st.host, "Port "+strconv.Itoa(st.port), "ServerType standalone", "User nobody", "Group nogroup", "LogDestination daemon"))
	return program{argv: []string{st.installed("usr/sbin/ftp-proxy"), "-n", "-d", "-f", conf}, env: st.environment()}
}

// configureModProxy returns a proftpd that is a reverse proxy for one server.
func configureModProxy(st *site) program {
	tables := st.path("tables")
	st.fails(os.Mkdir(tables, 0o700))
	st.fails(os.Chown(tables, nobody, nobody))
	conf := lines(
		"ModulePath "+filepath.Dir(st.installed("usr/lib/proftpd/mod_proxy.so")), "LoadModule mod_tls.c", "LoadModule mod_proxy.c",
		`ServerName "interop"`, "ServerType standalone", "DefaultAddress "+st.host, "SocketBindTight on", "UseIPv6 off",
		"Port "+strconv.Itoa(st.port), "User nobody", "Group nogroup",
		"AuthOrder mod_auth_file.c", "AuthUserFile "+st.write("passwd", st.passwd()), "AuthGroupFile "+st.write("group", st.groups()),
		"PidFile "+st.path("pid"), "ScoreboardFile "+st.path("scoreboard"),
		"UseReverseDNS off", "DelayEngine off", "WtmpLog off", "TransferLog none", "SystemLog none",
		"<IfModule mod_proxy.c>", "ProxyEngine on", "ProxyTables "+tables, "ProxyRole reverse",
		"ProxyReverseServers ftp://"+st.Upstream, "</IfModule>",
	)
	return program{argv: []string{st.installed("usr/sbin/proftpd"), "--nodaemon", "--quiet", "--config", st.write("proftpd.conf", conf)}, env: st.environment()}
}

//go:embed ftp_srv_server.js
var ftpSrvServer string

//go:embed nodeftpd_server.js
var nodeftpdServer string

// node returns the configuration of a short program that uses a package of npm.
func node(text string) func(st *site) program {
	return func(st *site) program {
		dir, err := installDir()
		st.fails(err)
		argv := []string{"/usr/bin/node", st.write("server.js", text), st.host, strconv.Itoa(st.port), st.tree.Public}
		return program{argv: argv, env: st.environment("NODE_PATH=" + filepath.Join(dir, "npm", "node_modules"))}
	}
}
