package ftpexec_test

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"example.com/ftpfetch/ftpexec"
)

// Open refuses bad and contradictory fields before it sends anything.
func TestClientCheck(t *testing.T) {
	four, six := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")
	for _, tt := range []struct {
		c    *ftpexec.Client
		want []string
	}{
		{&ftpexec.Client{LocalAddr: four, Network: "tcp6"}, []string{"LocalAddr", "Network: tcp6"}},
		{&ftpexec.Client{LocalAddr: six, Network: "tcp4"}, []string{"LocalAddr", "Network: tcp4"}},
		{&ftpexec.Client{Network: "udp"}, []string{"Network"}},
		{&ftpexec.Client{LeastRate: -1}, []string{"LeastRate"}},
		{&ftpexec.Client{IdleTimeout: -1}, []string{"IdleTimeout"}},
	} {
		_, err := tt.c.Do(t.Context(), &ftpexec.Request{URL: parse(t, "ftp://h/f")})
		var bad *ftpexec.OptionError
		if !errors.As(err, &bad) || !slices.Equal(bad.Fields, tt.want) {
			t.Errorf("error %v, want one of %q", err, tt.want)
		}
	}
	for _, c := range []*ftpexec.Client{{}, {LocalAddr: four, Network: "tcp4"}, {LocalAddr: six}, {Network: "tcp"}, {MaxIdle: -1}} {
		if err := c.Check(); err != nil {
			t.Error(err)
		}
	}
}
