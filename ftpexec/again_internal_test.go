package ftpexec

import (
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"example.com/ftpfetch/ftpexec/internal/wire"
)

// TestRemedies says what another try does differently after a failure.
func TestRemedies(t *testing.T) {
	dial := new(wire.DataDialError)
	ahead := new(wire.AheadError)
	lost := func(op string) error { return &Error{Op: op, Err: ErrLost} }
	for _, tt := range []struct {
		name string
		f    failedTry
		want string // what is learned, and how the note begins; "no" if another try cannot help
	}{
		{"refused", failedTry{err: &Error{Op: "RETR f", Code: 550, Err: ErrNotFound}}, "no"},
		{"lost on a new connection", failedTry{err: lost("RETR f")}, "no"},
		{"lost on a kept connection", failedTry{err: lost("SIZE f"), reused: true}, "; the connection kept from"},
		{"a listing too long on a kept connection", failedTry{err: wire.ErrListing, reused: true}, "no"},
		{"an unexpected reply on a kept connection", failedTry{err: errUnexpected, reused: true}, "no"},
		{"no restart", failedTry{err: ErrNoRestart, reused: true}, "no"},
		{"too many open files", failedTry{err: fmt.Errorf("%w", syscall.EMFILE), reused: true}, "no"},
		{"commands sent ahead are lost", failedTry{err: ahead}, "sequential true; replies to commands sent ahead"},
		{"nothing was sent ahead", failedTry{err: ahead, sequential: true}, "no"},
		{"no EPSV port", failedTry{err: dial, ipv4: true, setUp: "EPSV"}, "noEPSV true; the EPSV port cannot"},
		{"no EPSV port over IPv6", failedTry{err: dial, setUp: "EPSV"}, "no"},
		{"no PASV port", failedTry{err: dial, ipv4: true, setUp: "PASV"}, "no"},
		{"no port on a kept connection", failedTry{err: dial, ipv4: true, setUp: "PASV", reused: true}, "no"},
		{"lost at EPSV", failedTry{err: lost("EPSV"), setUp: "EPSV"}, "noEPSV true; the server ends the connection"},
		{"lost at EPSV, known not to work", failedTry{err: lost("EPSV"), noEPSV: true}, "no"},
		{"asked for in advance, no reply", failedTry{err: io.EOF, advance: true}, "late true; no data connection"},
		{"asked for in advance, unreachable", failedTry{err: dial, advanced: true}, "late true; no data connection"},
		{"another way to list", failedTry{err: errNextWay, listing: true}, "; "},
		{"the port again", failedTry{err: errStalePort}, "; "},
		{"a listing that may be cut", failedTry{err: errAbrupt, listing: true}, "; "},
		{"a file that may be cut", failedTry{err: errAbrupt}, "no"},
		{"lost after a refused way", failedTry{err: lost("PASV"), refused: true}, "; "},
		{"left and not ended", failedTry{err: wire.ErrUnsettled}, "unsettled true; the server did not end"},
		{"PASS is due", failedTry{err: errPASSDue}, "wantsPASS true; the server wants PASS"},
		{"out of order", failedTry{err: wire.ErrDisorder}, "sequential true; a reply belongs"},
		{"out of order, one at a time", failedTry{err: wire.ErrDisorder, sequential: true}, "no"},
		{"one reply too many", failedTry{err: wire.ErrStray}, "sequential true; a reply belongs"},
		{"one too many on a kept connection", failedTry{err: wire.ErrStray, reused: true}, "; the connection kept from"},
	} {
		m, ok := tt.f.remedy()
		h := habits{}
		if m.learn != nil {
			m.learn(&h)
		}
		got := difference(h, habits{}) + "; " + m.note
		if !ok {
			got = strings.TrimSuffix(got, "; ") + "no"
		}
		if !strings.HasPrefix(got, tt.want) || !ok != (tt.want == "no") {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
