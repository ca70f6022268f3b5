package cli

import (
	"crypto/tls"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/throwaway"
)

// TestClientCertificate checks that --cert takes a file with a certificate and its key.
func TestClientCertificate(t *testing.T) {
	id, err := throwaway.New("h")
	if err != nil {
		t.Fatal(err)
	}
	both, err := id.ServerPEM()
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(both)
	one := pem.EncodeToMemory(block)
	for _, text := range [][]byte{both, one, both[len(one):]} {
		path := filepath.Join(t.TempDir(), "pem")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		o, err := config.Parse([]string{"--cert", path, "ftp://h/f"})
		var cfg *tls.Config
		if err == nil {
			cfg, err = readTLS(o)
		}
		if ok := len(text) == len(both); (err == nil) != ok || ok && len(cfg.Certificates) != 1 {
			t.Errorf("%s: got %v, want accepted %v", text, err, ok)
		}
	}
}
