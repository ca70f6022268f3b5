package ftpexec_test

import (
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
)

// Do refuses bad fields before it sends anything.
func TestClientCheck(t *testing.T) {
	for want, c := range map[string]*ftpexec.Client{
		"MinRate": {MinRate: ftpexec.Rate{Bytes: -1}}, "MaxConns": {MaxConns: -1},
	} {
		if _, err := c.Get(t.Context(), "ftp://h/f"); err == nil || !strings.Contains(err.Error(), want+" is negative: write ") {
			t.Errorf("%s: error %v", want, err)
		}
	}
}
