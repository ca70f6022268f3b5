//go:build interop

package interop

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/ftpfetch/ftpexec"
)

func TestLogin(t *testing.T) {
	forEachUserClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		wantNote(t, c, s.UserURL(UserPassword, "/"+homeFile))
	})
}

// wantNote retrieves the named user's one file.
func wantNote(t *testing.T, c *ftpexec.Client, url string) {
	t.Helper()
	_, got, err := fetch(testContext(t), c, url)
	if err != nil {
		t.Fatal(err)
	}
	if got != homeText {
		t.Errorf("got %q, want %q", got, homeText)
	}
}

func TestLoginRefused(t *testing.T) {
	const wrong = "not the one"
	forEachUserClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		_, _, err := fetch(testContext(t), c, s.UserURL(wrong, "/"+homeFile))
		if !errors.Is(err, ftpexec.ErrLogin) {
			t.Fatalf("got %v, want %v", err, ftpexec.ErrLogin)
		}
		if strings.Contains(err.Error(), wrong) || strings.Contains(err.Error(), Escape(wrong)) {
			t.Errorf("the error shows the password: %v", err)
		}
	})
}

// keeper knows the named user's password and counts how often it is asked.
type keeper struct{ asked atomic.Int32 }

func (k *keeper) supply(context.Context, string, string, string) (string, error) {
	k.asked.Add(1)
	return UserPassword, nil
}

func TestLoginAsks(t *testing.T) {
	forEachUserClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		k := &keeper{}
		c.Credentials = k.supply
		wantNote(t, c, "ftp://"+UserName+"@"+s.Addr+"/"+homeFile)
		if got, want := k.asked.Load(), int32(s.logins(c)); got != want {
			t.Errorf("asked for the password %d times, want %d", got, want)
		}
	})
}
