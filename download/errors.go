package download

import (
	"errors"
	"fmt"

	"example.com/ftpfetch/internal/localfile"
)

// Callers tell these causes apart with errors.Is. ErrLocal is every failure on the local side.
var (
	ErrLocal = localfile.ErrLocal

	ErrResume     = errors.New("cannot resume") // as Continue asks for
	ErrDigest     = errors.New("digest mismatch")
	ErrUnverified = errors.New("nothing to verify the file with") // Options.Verify
)

// because returns an error with this text that is not [ErrLocal].
func because(cause error, format string, args ...any) error {
	return &localfile.Error{Reason: fmt.Sprintf(format, args...), Err: cause, Elsewhere: true}
}
