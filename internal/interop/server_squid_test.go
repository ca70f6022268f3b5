//go:build interop

package interop

import (
	"fmt"
	"os"
	"path/filepath"
)

// proxyHash is proxyPassword as crypt(3) writes it (SHA-512, salt "interop").
const proxyHash = "$6$interop$qNBZt67I0TlNOk5yUb7M6./r0OkEq0NcmpPixeWj0i6NVVZmlCV4Oq1QnEwhhWiu/xeyIUSw5dlyH1l5QJNnG1"

// squidArgs configures a squid that fetches ftp URLs itself and refuses CONNECT, as many sites configure theirs. Squid
// reads its files, runs its programs and writes its logs as nobody, who may not look into the directory of the unpacked
// packages.
func squidArgs(st *site) []string {
	dir := st.path("squid")
	st.fails(os.Mkdir(dir, 0o700))
	files := map[string]string{"users": proxyUser + ":" + proxyHash + "\n", "hosts": st.host + " " + ProxyHost + "\n"}
	for _, file := range []string{"usr/lib/squid/basic_ncsa_auth", "usr/lib/squid/unlinkd", "usr/share/squid/mime.conf"} {
		text, err := os.ReadFile(st.installed(file))
		st.fails(err)
		files[filepath.Base(file)] = string(text)
	}
	for name, text := range files {
		st.fails(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700))
	}
	conf := st.write("squid.conf", lines(
		fmt.Sprintf("http_port %s:%d", st.host, st.port), "visible_hostname squid.interop.test",
		"hosts_file "+dir+"/hosts", "dns_nameservers 127.0.0.1",
		"auth_param basic program "+dir+"/basic_ncsa_auth "+dir+"/users", "auth_param basic realm interop",
		"acl tunnel method CONNECT", "acl known proxy_auth REQUIRED",
		"http_access deny tunnel", "http_access allow known", "http_access deny all",
		"cache_effective_user nobody", "pid_filename none", "coredump_dir "+dir, "shutdown_lifetime 0 seconds",
		"cache_log "+dir+"/cache.log", "access_log stdio:"+dir+"/access.log", "logfile_rotate 0", "pinger_enable off",
		"mime_table "+dir+"/mime.conf", "icon_directory "+dir, "error_directory "+dir, "unlinkd_program "+dir+"/unlinkd",
		"max_filedescriptors 1024",
	))
	if os.Getuid() == 0 {
		st.fails(os.Chown(dir, nobody, nobody))
		for name := range files {
			st.fails(os.Chown(filepath.Join(dir, name), nobody, nobody))
		}
	}
	return []string{st.installed("usr/sbin/squid"), "-N", "-f", conf}
}
