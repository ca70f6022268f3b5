//go:build linux

package interop

import "fmt"

// configureInetutils returns a program for inetd: the harness accepts its
// connections. The server confines anonymous users to the home of the account
// ftp, which the harness makes up. The named user is an account too, but is not
// confined, because the server cannot do that.
func configureInetutils(st *site) (program, error) { return st.ftpd("usr/sbin/ftpd") }

// ftpd returns one of the servers that descend from the ftpd of BSD.
func (st *site) ftpd(file string) (program, error) {
	accounts, err := st.accounts()
	if err != nil {
		return program{}, err
	}
	env, err := environment(accounts...)
	if err != nil {
		return program{}, err
	}
	binary, err := installed(file)
	argv := []string{binary}
	if st.Idle > 0 {
		argv = append(argv, "-t", fmt.Sprint(st.Idle))
	}
	return program{argv: argv, env: env}, err
}
