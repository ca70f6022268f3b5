package cli

import "fmt"

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
// go on from it.
func (r *run) withKept(err error) error {
	if r.kept == 0 || r.file.NoResume {
		return err
	}
	return &keptError{err, r.kept}
}

// octets counts them in words.
func octets(n int64) string {
	if n == 1 {
		return "1 octet"
	}
	return fmt.Sprintf("%d octets", n)
}
