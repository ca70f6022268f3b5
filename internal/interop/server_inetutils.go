//go:build interop

package interop

// configureInetutils: a program for inetd, so the harness accepts connections.
// Anonymous users are shut into the home of the account ftp, which is ours; the
// named user is an account too and, as the server knows no better, not shut in.
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
