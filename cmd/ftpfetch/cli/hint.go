package cli

import (
	"errors"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
)

// hints says what to write instead, for errors where that is known; the first
// that fits counts.
var hints = []struct {
	err  error
	text string
}{
	{download.ErrExists, "--overwrite replaces it, --no-clobber skips it"},
	{download.ErrName, "-o FILE names another"},
	{download.ErrPart, "remove it, or --overwrite replaces it"},
	{ftpexec.ErrNoCredentials, "-u NAME:PASSWORD gives a password, --account NAME an account"},
}

func hint(err error) string {
	for _, h := range hints {
		if errors.Is(err, h.err) {
			return h.text
		}
	}
	return ""
}
