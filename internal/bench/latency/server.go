//go:build linux

package latency

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"example.com/ftpfetch/internal/bench/lab"
)

const (
	clearPort = 21   // of the vsftpd without TLS
	tlsPort   = 2021 // of the vsftpd with explicit TLS
)

// servers are vsftpd, once without TLS and once with it. There are two because a
// client may use TLS unasked if a server offers it, and would then be measured
// at another job.
type servers struct {
	*lab.Site
	clear, tls *lab.Server
}

// prepareServers writes everything that the servers read.
func prepareServers(dir string, t *tree) (*servers, error) {
	site, err := lab.NewSite(dir)
	if err != nil {
		return nil, err
	}
	if err := t.write(site.Tree("")); err != nil {
		return nil, err
	}
	s := &servers{Site: site}
	if s.clear, err = site.Vsftpd(clearPort); err != nil {
		return nil, err
	}
	s.tls, err = site.VsftpdTLS(tlsPort, nearServer, farServer)
	return s, err
}

// start starts both in the namespaces of the calling thread.
func (s *servers) start() error { return s.Serve(s.clear, s.tls) }

// tlsVersion returns the TLS versions and ciphers that the server logged, each
// once.
func (s *servers) tlsVersion() string {
	log, err := os.ReadFile(s.tls.LogFile())
	if err != nil {
		return ""
	}
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`SSL version: ([^,"]+), SSL cipher: ([^,"]+)`).FindAllSubmatch(log, -1) {
		found[fmt.Sprintf("%s %s", m[1], m[2])] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), ", ")
}
