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

// configurePyftpdlib, configureAioftp and configureTwisted return programs of a
// few lines that use these libraries. They stay root: the libraries have users
// and root directories of their own.
func configurePyftpdlib(st *site) (program, error) { return st.python(pyftpdlibServer) }

func configureAioftp(st *site) (program, error) { return st.python(aioftpServer) }

func configureTwisted(st *site) (program, error) { return st.python(twistedServer) }

// python returns a program that runs a script with what the scripts need to know.
func (st *site) python(text string) (program, error) {
	packages, err := installed("usr/lib/python3/dist-packages")
	if err != nil {
		return program{}, err
	}
	env, err := environment("PYTHONPATH="+packages, "PYTHONDONTWRITEBYTECODE=1")
	if err != nil {
		return program{}, err
	}
	script, err := st.write("server.py", text)
	argv := []string{
		"/usr/bin/python3", "-W", "ignore", script, st.host, strconv.Itoa(st.port),
		st.tree.Public, UserName, UserPassword, st.tree.Home,
		st.cert, strconv.Itoa(st.MaxClients), strconv.Itoa(st.Idle),
	}
	return program{argv: argv, env: env}, err
}
