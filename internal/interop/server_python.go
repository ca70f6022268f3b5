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

// configurePyftpdlib, configureAioftp and configureTwisted return programs of a few lines that use these libraries. They
// stay root: the libraries have users and root directories of their own.
func configurePyftpdlib(st *site) program { return st.python(pyftpdlibServer) }

func configureAioftp(st *site) program { return st.python(aioftpServer) }

func configureTwisted(st *site) program { return st.python(twistedServer) }

// python returns a program that runs a script with what the scripts need to know.
func (st *site) python(text string) program {
	argv := []string{
		"/usr/bin/python3", "-W", "ignore", st.write("server.py", text), st.host, strconv.Itoa(st.port),
		st.tree.Public, UserName, UserPassword, st.tree.Home,
		st.cert, strconv.Itoa(st.MaxClients), strconv.Itoa(st.Idle),
	}
	return program{argv: argv, env: st.environment("PYTHONPATH="+st.installed("usr/lib/python3/dist-packages"), "PYTHONDONTWRITEBYTECODE=1")}
}
