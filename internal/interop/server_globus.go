//go:build linux

package interop

import (
	"fmt"
	"os"
	"strconv"
)

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
