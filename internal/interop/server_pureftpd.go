//go:build linux

package interop

import (
	"fmt"
	"os/exec"
	"strconv"
)

// configurePureFTPd returns a pure-ftpd whose named user is a virtual one, in a
// puredb. Anonymous users need an account named ftp, which the harness makes up.
func configurePureFTPd(st *site) (program, error) {
	accounts, err := st.accounts()
	if err != nil {
		return program{}, err
	}
	env, err := environment(accounts...)
	if err != nil {
		return program{}, err
	}
	db, err := st.pureDB(env)
	if err != nil {
		return program{}, err
	}
	binary, err := installed("usr/sbin/pure-ftpd")
	return program{argv: append([]string{binary}, st.pureFlags(db)...), env: env}, err
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
func (st *site) pureDB(env []string) (db string, err error) {
	line := fmt.Sprintf("%s:%s:%d:%d::%s/./::::::::::::", UserName, userHash, nobody, nobody, st.tree.Home)
	users, err := st.write("pureftpd.passwd", lines(line))
	if err != nil {
		return "", err
	}
	binary, err := installed("usr/bin/pure-pw")
	if err != nil {
		return "", err
	}
	db = st.path("pureftpd.pdb")
	mkdb := exec.Command(binary, "mkdb", db, "-f", users)
	mkdb.Env = env
	if out, err := mkdb.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w: %s", mkdb.Args, err, out)
	}
	return db, nil
}
