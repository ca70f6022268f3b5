//go:build linux

package interop

import "example.com/ftpfetch/internal/throwaway"

// writeCertificate makes a certificate for the loopback address and writes it,
// its key and its authority to one PEM file. st.roots then holds the authority.
func (st *site) writeCertificate() error {
	id, err := throwaway.New(st.host)
	if err != nil {
		return err
	}
	pem, err := id.ServerPEM()
	if err != nil {
		return err
	}
	st.roots = id.Roots
	st.cert, err = st.write("server.pem", string(pem))
	return err
}
