package cli

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/gateway"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/internal/netrc"
	"example.com/ftpfetch/urlparse"
)

// hints says what to write instead, for the errors that have such a hint; the
// first match counts.
var hints = []struct {
	err  error
	text string
}{
	{fs.ErrExist, "--overwrite replaces it, --no-clobber skips it"},
	{download.ErrName, "-o FILE saves it under another"},
	{download.ErrPart, "remove it, or -c resumes it, or --overwrite replaces it"},
	{download.ErrResume, "--overwrite, without -c, starts over"},
	{download.ErrUnverified, "--checksum ALGO:HEX gives the digest of one file"},
	{manifest.ErrPath, "--keep-dirs saves each file under the directories of its URL"},
	{manifest.ErrBase, "--base URL"},
	{netrc.ErrUnusable, "--netrc=none ignores it"},
	{ftpexec.ErrIsDirectory, "-r fetches what is in it"},
	{ftpexec.ErrTLSRequired, "--tls explicit asks for it, and so does ftpes:// in place of ftp://"},
	{errCertificate, "--cacert FILE trusts the authority in FILE"},
	{gateway.ErrWithheld, "--proxy get+URL gives it these, unencrypted unless the proxy's URL is https://"},
	{ftpexec.ErrTLS, "the server may expect ftpes:// in place of ftps://, or --tls explicit in place of --tls implicit"},
	{syscall.ENFILE, "other programs have them: end some, or raise the system's limit"},
	{syscall.ENOBUFS, "a smaller -j or -s needs less memory"},
	{syscall.ENOMEM, "a smaller -j or -s needs less memory"},
	{ftpexec.ErrNoCredentials, "--password-stdin or a netrc file gives a password, a netrc file an account too"},
}

// hinted is an error with what to write instead in this situation. It goes before
// the hints of the table.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

func hint(err error) string {
	var h *hinted
	var server *ftpexec.Error
	switch {
	case errors.As(err, &h):
		return h.hint
	case errors.Is(err, syscall.EMFILE):
		return limitOfFiles() + "a smaller -j or -s needs fewer"
	case errors.As(err, &server) && localfile.Failed(err) && errors.Is(err, syscall.EADDRNOTAVAIL):
		return "--bind names no address of this machine"
	}
	for _, h := range hints {
		if isThe(err, h.err) {
			return h.text
		}
	}
	return ""
}

// hintFailure adds to the failure of a URL what the user may have expected: that
// the netrc file is used, or that the name is a pattern.
func (r *run) hintFailure(ctx context.Context, u *urlparse.URL, err error) error {
	_, given := r.User.Password()
	refused := errors.Is(err, ftpexec.ErrLogin) || errors.Is(err, ftpexec.ErrNoCredentials)
	switch {
	case err == nil:
	case u.User == nil && u.WithoutPassword().String() != u.String() && errors.Is(err, ftpexec.ErrConnect):
		return &hinted{err, `if this is a password, write %2F for a "/" in it`}
	case refused && u.User.Username() == r.User.Username() && strings.Contains(r.User.Username(), ",") && !given:
		return &hinted{err, "-u takes NAME:PASSWORD, with a colon"}
	case refused && u.User == nil && !r.usesNetrc():
		if _, ok, nerr := r.logins.user(ctx, u.Host); ok && nerr == nil {
			return &hinted{err, "-n takes the login for " + u.Host + " from the netrc file"}
		}
	case errors.Is(err, download.ErrPart) && (u.IsDir() || r.Long): // -c resumes files only
		return &hinted{err, "remove it, or --overwrite replaces it"}
	case errors.Is(err, download.ErrPart) && r.File.Continue:
		return &hinted{err, "remove it, or --overwrite, without -c, replaces it"}
	case errors.Is(err, ftpexec.ErrNotFound) && strings.ContainsAny(u.Name, "*?") && !r.Glob:
		return &hinted{err, "--glob takes it as a pattern of names"}
	}
	return err
}
