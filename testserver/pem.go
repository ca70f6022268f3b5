package testserver

import "encoding/pem"

// RootPEM returns the certificate of the authority of [Server.RootCAs] as a PEM
// file holds it, for programs that are told of authorities that way; nil with
// TLSOff.
func (s *Server) RootPEM() []byte { return s.rootPEM }

// rootPEM is the authority's certificate.
func (id *identity) rootPEM() []byte {
	chain := id.leaf.Certificate
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain[len(chain)-1]})
}
