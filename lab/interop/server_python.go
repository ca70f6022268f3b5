//go:build linux

package interop

import (
	_ "embed"
	"strconv"
)

//go:embed pyftpdlib_server.py
var pyftpdlibServer string

//go:embed aioftp_server.py
var aioftpServer string

//go:embed twisted_server.py
var twistedServer string

// python returns the configuration of a short program that uses a library. It stays root: the libraries have users and
// root directories of their own.
func python(text string) func(st *site) program {
	return func(st *site) program {
		argv := []string{
			"/usr/bin/python3", "-W", "ignore", st.write("server.py", text), st.host, strconv.Itoa(st.port),
			st.tree.Public, UserName, UserPassword, st.tree.Home,
			st.cert, strconv.Itoa(st.MaxClients), strconv.Itoa(st.Idle),
		}
		return program{argv: argv, env: st.environment("PYTHONPATH="+st.installed("usr/lib/python3/dist-packages"), "PYTHONDONTWRITEBYTECODE=1")}
	}
}
