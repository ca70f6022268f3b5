package wire

import (
	"crypto/tls"
	"slices"
	"testing"
)

// Data connections offer the key exchange that the server has already accepted, because a HelloRetryRequest costs a
// round trip.
func TestDataTLSOffersTheAgreedKeyExchange(t *testing.T) {
	for _, tt := range []struct {
		name    string
		control tls.ConnectionState
		want    []tls.CurveID
	}{
		{"TLS 1.3", tls.ConnectionState{Version: tls.VersionTLS13, CurveID: tls.CurveP256}, []tls.CurveID{tls.CurveP256}},
		{"TLS 1.2", tls.ConnectionState{Version: tls.VersionTLS12, CurveID: tls.CurveP256}, []tls.CurveID{tls.X25519}},
		{"not known", tls.ConnectionState{Version: tls.VersionTLS13}, []tls.CurveID{tls.X25519}},
	} {
		config := &tls.Config{ServerName: "h", CurvePreferences: []tls.CurveID{tls.X25519}, ClientSessionCache: tls.NewLRUClientSessionCache(1)}
		got := dataTLS(config, tt.control)
		if !slices.Equal(got.CurvePreferences, tt.want) || got.ServerName != "h" || got.ClientSessionCache != config.ClientSessionCache {
			t.Errorf("%s: offers %v, want %v", tt.name, got.CurvePreferences, tt.want)
		}
	}
}
