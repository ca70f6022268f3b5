package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"sync"
	"time"
)

// outOfDate returns a certificate for 127.0.0.1 that expired in 2020. It is made when it is needed: a process that may
// open no files could not do so.
var outOfDate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	end := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    end.AddDate(-1, 0, 0),
		NotAfter:     end,
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})
