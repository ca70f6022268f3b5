package cli

import (
	"errors"
	"path"
	"strings"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/netrc"
)

// hints says what to write instead, for the errors that have such a hint; the
// first match counts.
var hints = []struct {
	err  error
	text string
}{
	{download.ErrExists, "--overwrite replaces it, --no-clobber skips it"},
	{download.ErrName, "-o FILE saves it under another"},
	{download.ErrForeign, "remove it, or choose another place with -o or -d"},
	{download.ErrPart, "remove it, or -c resumes it, or --overwrite replaces it"},
	{download.ErrUnfinished, "remove it, or --overwrite goes ahead"},
	{download.ErrResume, "--overwrite starts over"},
	{download.ErrUnverified, "--checksum ALGO:HEX gives the digest of one file"},
	{manifest.ErrPath, "--keep-dirs saves each file under the directories of its URL"},
	{manifest.ErrBase, "--base URL"},
	{netrc.ErrUnusable, "--no-netrc ignores it"},
	{ftpexec.ErrIsDirectory, "-l lists it, -r fetches what is in it"},
	{ftpexec.ErrTLSRequired, "--tls explicit asks for it"},
	{ftpexec.ErrCertificate, "--cacert FILE trusts the authority in FILE"},
	{ftpexec.ErrTLSHandshake, "the server may expect --tls explicit or --tls implicit"},
	{ftpexec.ErrNoCredentials, "--password-stdin or a netrc file gives a password, --account NAME an account"},
}

func hint(err error) string {
	var e *ftpexec.Error
	if errors.As(err, &e) && errors.Is(err, ftpexec.ErrNotFound) && strings.Contains(path.Base(e.URL), "*") {
		return "if it is a pattern of names, write --glob" // other clients need no flag for that
	}
	for _, h := range hints {
		if errors.Is(err, h.err) {
			return h.text
		}
	}
	return ""
}
