//go:build linux

package interop

import (
	"fmt"
	"os/exec"
	"strconv"
)

// configurePureFTPd returns a pure-ftpd whose named user is a virtual one, in a puredb. Anonymous users need an account
// named ftp, which the harness makes up.
func configurePureFTPd(st *site) program {
	env := st.environment(st.accounts()...)
	db := st.pureDB(env)
	return program{argv: append([]string{st.installed("usr/sbin/pure-ftpd")}, st.pureFlags(db)...), env: env}
}

func (st *site) pureFlags(db string) []string {
	flags := []string{
		"-S", fmt.Sprintf("%s,%d", st.host, st.port),
		"-l", "puredb:" + db,
		"-A",                            // confine all users to their home directories
		"-H",                            // do not use DNS
		"-u", "1", "-g", st.path("pid"), // user ids from 1 up may log in
	}
	if !st.IPv6 {
		flags = append(flags, "-4")
	}
	if st.MaxClients > 0 {
		flags = append(flags, "-c", strconv.Itoa(st.MaxClients))
	}
	if st.MaxListing > 0 {
		flags = append(flags, "-L", fmt.Sprintf("%d:5", st.MaxListing))
	}
	if st.cert != "" {
		flags = append(flags, "-2", st.cert, "-Y", "3") // TLS for logins and data, or nothing
	}
	return flags
}

// pureDB makes a database of the virtual user.
func (st *site) pureDB(env []string) string {
	line := fmt.Sprintf("%s:%s:%d:%d::%s/./::::::::::::", UserName, userHash, nobody, nobody, st.tree.Home)
	db := st.path("pureftpd.pdb")
	mkdb := exec.Command(st.installed("usr/bin/pure-pw"), "mkdb", db, "-f", st.write("pureftpd.passwd", lines(line)))
	mkdb.Env = env
	if out, err := mkdb.CombinedOutput(); err != nil {
		st.fails(fmt.Errorf("%v: %w: %s", mkdb.Args, err, out))
	}
	return db
}
