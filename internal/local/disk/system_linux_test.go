package disk

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/testkit/must"
)

// TestRoom checks Room with a low limit on address space.
func TestRoom(t *testing.T) {
	var was unix.Rlimit
	must.Do(t, unix.Getrlimit(unix.RLIMIT_AS, &was))
	for mib := uint64(256); mib <= 4096; mib += 64 {
		must.Do(t, unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: mib << 20, Max: was.Max}))
		err := Room()
		must.Do(t, unix.Setrlimit(unix.RLIMIT_AS, &was))
		if enough := mib<<20 >= addressSpace; (err == nil) != enough || !enough && !errors.Is(err, localfile.ErrLocal) {
			t.Errorf("%d MiB: %v", mib, err)
		}
	}
}
