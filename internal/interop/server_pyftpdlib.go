//go:build interop

package interop

import (
	_ "embed"
	"strconv"
)

//go:embed pyftpdlib_server.py
var pyftpdlibServer string

// configurePyftpdlib returns a program of a few lines that uses the library. It
// stays root: the library has users and root directories of its own.
func configurePyftpdlib(st *site) (program, error) {
	packages, err := installed("usr/lib/python3/dist-packages")
	if err != nil {
		return program{}, err
	}
	env, err := environment("PYTHONPATH="+packages, "PYTHONDONTWRITEBYTECODE=1")
	if err != nil {
		return program{}, err
	}
	script, err := st.write("server.py", pyftpdlibServer)
	argv := []string{
		"/usr/bin/python3", script, st.host, strconv.Itoa(st.port),
		st.tree.Public, UserName, UserPassword, st.tree.Home,
	}
	return program{argv: argv, env: env}, err
}
