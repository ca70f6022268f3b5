//go:build linux

package interop

import (
	"cmp"
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
	SquidFTP  Kind = "squid"     // its ftp_port
)

// The small servers, which anyone may enter.
const (
	FtpSrv   Kind = "ftp-srv" // of npm
	Nodeftpd Kind = "ftpd"    // of npm
	Goftp    Kind = "goftp"   // goftp.io/server
	Rclone   Kind = "rclone"  // rclone serve ftp
)

// others are small servers and relays: few of the tests suit them.
var others = []flavour{
	{kind: SuSEProxy, pkg: "ftp-proxy", configure: configureSuSEProxy, banner: "FTP server (Version", upstream: true, noIPv6: true, noIdle: true},
	{kind: ModProxy, pkg: "proftpd-mod-proxy", configure: configureModProxy, banner: "220", upstream: true, noIPv6: true, noIdle: true},
	{kind: SquidFTP, pkg: "squid", configure: configureSquidFTP, banner: "220 Service ready", upstream: true, named: true, noIPv6: true, noIdle: true},
	{kind: FtpSrv, configure: node(ftpSrvServer), banner: "220", noIPv6: true, noIdle: true},
	{kind: Nodeftpd, configure: node(nodeftpdServer), banner: "nodeftpd", slowNames: true, noIPv6: true, noIdle: true},
	{kind: Goftp, configure: configureGoftp, banner: "goftp", noIdle: true},
	{kind: Rclone, configure: configureRclone, banner: "220", noIdle: true},
}

// configureSuSEProxy returns a proxy with one server behind it. It says in its greeting that the server's name is its own.
func configureSuSEProxy(st *site) program {
	host, port, err := net.SplitHostPort(st.Upstream)
	st.fails(err)
	conf := st.write("ftp-proxy.conf", lines("[-Global-]", "DestinationAddress "+host, "DestinationPort "+port,
		"Listen "+st.host, "Port "+strconv.Itoa(st.port),
		"ForkLimit 100000", // connections in a minute; by default it closes the 41st
		"ServerType standalone", "User nobody", "Group nogroup", "LogDestination daemon"))
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

// configureSquidFTP returns a squid that relays FTP to the server in the name of the user (user@host:port).
func configureSquidFTP(st *site) program {
	dir := st.path("squid")
	mime, err := os.ReadFile(st.installed("usr/share/squid/mime.conf"))
	unlinkd, uerr := os.ReadFile(st.installed("usr/lib/squid/unlinkd"))
	_, port, perr := net.SplitHostPort(st.Upstream)
	st.fails(cmp.Or(err, uerr, perr, os.Mkdir(dir, 0o700), os.WriteFile(dir+"/mime.conf", mime, 0o644), os.WriteFile(dir+"/unlinkd", unlinkd, 0o755), os.Chown(dir, nobody, nobody)))
	conf := st.write("squid.conf", lines(
		"ftp_port "+st.addr(), "http_port "+net.JoinHostPort(st.host, strconv.Itoa(st.freePort())), "visible_hostname squid.interop.test",
		"acl upstream port "+port, "http_access allow upstream", "http_access deny all", "cache deny all", "dns_nameservers 127.0.0.1",
		"cache_effective_user nobody", "pid_filename none", "coredump_dir "+dir, "shutdown_lifetime 0 seconds",
		"cache_log "+dir+"/cache.log", "access_log none", "pinger_enable off",
		"mime_table "+dir+"/mime.conf", "icon_directory "+dir, "error_directory "+dir, "unlinkd_program "+dir+"/unlinkd", "max_filedescriptors 1024",
	))
	return program{argv: []string{st.installed("usr/sbin/squid"), "-N", "-f", conf}, env: st.environment()}
}

// configureGoftp returns a server of the Go module goftp.io/server, with its driver for files.
func configureGoftp(st *site) program {
	return program{argv: []string{st.built("goftp"), st.addr(), st.tree.Public}, env: st.environment()}
}

// configureRclone returns an rclone that serves a directory, which it reads again each time.
func configureRclone(st *site) program {
	argv := []string{st.built("rclone"), "serve", "ftp", "--addr", st.addr(), "--passive-port", "32768-60999", "--read-only", "--dir-cache-time", "0", "--config", st.path("none"), st.tree.Public}
	return program{argv: argv, env: st.environment("HOME=" + st.dir)}
}

// built returns the path of a program that install.sh builds from the module in small.
func (st *site) built(name string) string {
	dir, err := installDir()
	st.fails(err)
	return filepath.Join(dir, "small", name)
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
