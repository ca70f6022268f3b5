//go:build interop

package interop

// configureInetutils returns a program for inetd: the harness accepts its
// connections. The server confines anonymous users to the home of the account
// ftp, which the harness makes up. The named user is an account too, but is not
// confined, because the server cannot do that.
func configureInetutils(st *site) (program, error) {
	accounts, err := st.accounts()
	if err != nil {
		return program{}, err
	}
	env, err := environment(accounts...)
	if err != nil {
		return program{}, err
	}
	binary, err := installed("usr/sbin/ftpd")
	return program{argv: []string{binary}, env: env}, err
}
