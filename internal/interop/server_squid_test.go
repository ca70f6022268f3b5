//go:build interop

package interop

import (
	"fmt"
	"os"
	"path/filepath"
)

// proxyHash is proxyPassword as crypt(3) writes it (SHA-512, salt "interop").
const proxyHash = "$6$interop$qNBZt67I0TlNOk5yUb7M6./r0OkEq0NcmpPixeWj0i6NVVZmlCV4Oq1QnEwhhWiu/xeyIUSw5dlyH1l5QJNnG1"

// squidArgs configures a squid that fetches ftp URLs itself and refuses CONNECT,
// as many sites configure theirs.
func squidArgs(st *site) ([]string, error) {
	binary, err := installed("usr/sbin/squid")
	if err != nil {
		return nil, err
	}
	conf, err := st.squidConf()
	return []string{binary, "-N", "-f", conf}, err
}

// squidConf writes squid's configuration. Squid reads its files, runs its
// programs and writes its logs as nobody, who may not look into the directory of
// the unpacked packages.
func (st *site) squidConf() (string, error) {
	dir := st.path("squid")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	for _, file := range []string{"usr/lib/squid/basic_ncsa_auth", "usr/lib/squid/unlinkd", "usr/share/squid/mime.conf"} {
		if err := copyInto(dir, file); err != nil {
			return "", err
		}
	}
	for name, text := range map[string]string{"users": proxyUser + ":" + proxyHash + "\n", "hosts": st.host + " " + ProxyHost + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	conf, err := st.write("squid.conf", lines(
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
	if err == nil && os.Getuid() == 0 {
		err = chownAll(dir, nobody)
	}
	return conf, err
}

// copyInto copies an unpacked file into dir.
func copyInto(dir, file string) error {
	path, err := installed(file)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o700)
}

// chownAll gives dir and the files in it to a user.
func chownAll(dir string, user int) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if err == nil {
			err = os.Chown(filepath.Join(dir, e.Name()), user, user)
		}
	}
	if err == nil {
		err = os.Chown(dir, user, user)
	}
	return err
}

// squidLog returns what squid has logged about requests.
func (p *ProxyServer) squidLog() (string, error) {
	text, err := os.ReadFile(filepath.Join(p.dir, "squid", "access.log"))
	return string(text), err
}
