package ftpexec

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec/internal/listing"
	"example.com/ftpfetch/ftpexec/internal/wire"
)

// endless is a connection that brings the same text again and again.
type endless struct {
	net.Conn
	text string
	read int64
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text)
	e.read += int64(n)
	return n, nil
}

// An endless listing ends when its lines take as much memory as a listing may, whatever they look like. A million
// entries are no endless listing.
func TestListingMemory(t *testing.T) {
	name := strings.Repeat("n", 40)
	for command, lines := range map[string][]string{
		"MLSD": {"type=file;size=1;modify=20240102030405; " + name, "no facts " + name},
		"LIST": {"-rw-r--r-- 1 u g 1 Jan 02  2003 " + name, "01-02-06  03:04PM                    1 " + name},
		"NLST": {name},
	} {
		for _, line := range lines {
			const most = 1 << 20
			conn := &endless{text: strings.Repeat(line+"\r\n", 50)}
			r := &receiver{Conn: conn, text: listing.NewText(command, time.Now()), most: most}
			_, err := r.Read(nil)
			took := r.text.Memory()
			if !errors.Is(err, wire.ErrListing) || took <= most || took > most+firstBuffer*2 {
				t.Errorf("%s %q: %v after %d bytes of memory", command, line, err, took)
			}
			if perLine := took / int64(r.text.Len()); perLine*1_000_000 > mostMemory {
				t.Errorf("%s %q: a million lines would take %d MiB", command, line, perLine*1_000_000>>20)
			}
		}
	}
}
