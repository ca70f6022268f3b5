package ftpexec_test

import (
	"errors"
	"slices"
	"testing"

	"example.com/ftpfetch/ftpexec"
)

// Open refuses bad and contradictory fields before it sends anything.
func TestClientCheck(t *testing.T) {
	for _, tt := range []struct {
		c    *ftpexec.Client
		want []string
	}{
		{&ftpexec.Client{MinRate: ftpexec.Rate{Bytes: -1}}, []string{"MinRate"}},
		{&ftpexec.Client{IdleTimeout: -1}, []string{"IdleTimeout"}},
	} {
		_, err := tt.c.Do(t.Context(), &ftpexec.Request{URL: parse(t, "ftp://h/f")})
		var bad *ftpexec.OptionError
		if !errors.As(err, &bad) || !slices.Equal(bad.Fields, tt.want) {
			t.Errorf("error %v, want one of %q", err, tt.want)
		}
	}
	for _, c := range []*ftpexec.Client{{}, {MaxIdle: -1}} {
		if err := c.Check(); err != nil {
			t.Error(err)
		}
	}
}
