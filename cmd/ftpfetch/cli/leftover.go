package cli

import (
	"errors"
	"fmt"
	"os"

	"example.com/ftpfetch/download"
)

// leftover is what the transfer at hand has brought, for the case that it comes
// to nothing.
type leftover struct {
	path   string // the file that was to be; "" where nothing is saved
	octets int64
}

// keptError is a failure after which the next run can go on.
type keptError struct {
	error
	octets int64
}

func (e *keptError) Unwrap() error { return e.error }

// kept says what the same command will find.
func (e *keptError) kept() string {
	return fmt.Sprintf("%s kept, the same command resumes", octets(e.octets))
}

// withKept adds to err what was kept of the file, where the same command would
// go on from it: the journal beside NAME.part is there only then.
func (r *run) withKept(err error) error {
	if r.left.path == "" || r.left.octets == 0 || r.noResume || errors.Is(err, download.ErrResume) {
		return err
	}
	for _, suffix := range []string{".part", ".part.json"} {
		if _, serr := os.Lstat(r.left.path + suffix); serr != nil {
			return err
		}
	}
	return &keptError{err, r.left.octets}
}

// octets counts them in words.
func octets(n int64) string {
	if n == 1 {
		return "1 octet"
	}
	return fmt.Sprintf("%d octets", n)
}
