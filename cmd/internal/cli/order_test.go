package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"syscall"
	"testing"

	"example.com/ftpfetch/cmd/internal/cli/commands"
	"example.com/ftpfetch/cmd/internal/cli/config"
	"example.com/ftpfetch/cmd/internal/cli/netrc"
	"example.com/ftpfetch/cmd/internal/gateway"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/network/proxy"
	"example.com/ftpfetch/urlparse"
)

var untrusted = &tls.CertificateVerificationError{Err: errors.New("no")}

// TestOrderOfExits has an error for each row of the table exits, in its order. If an error matches two rows, the
// earlier one applies.
func TestOrderOfExits(t *testing.T) {
	_, scheme := urlparse.Parse("gopher://h/")
	_, malformed := urlparse.Parse("ftp://h/a b")
	codes := []struct {
		code int
		err  error
	}{
		{2, config.Usage("no")},
		{2, wrapped(ftpexec.ErrIsDirectory)},
		{75, errAtWork},
		{80, errDiffers},
		{123, &commands.Error{How: "ended"}},
		{3, manifest.ErrLine},
		{1, scheme},
		{3, malformed},
		{141, localfile.Failure("", "", syscall.EPIPE)},
		{23, download.ErrLocal},
		{23, wrapped(syscall.EMFILE)},
		{100, download.ErrDigest},
		{36, download.ErrResume},
		{26, netrc.ErrUnusable},
		{5, proxy.ErrResolve},
		{97, proxy.ErrRefused},
		{6, &net.DNSError{}},
		{67, ftpexec.ErrLogin},
		{64, refusedTo("AUTH TLS")},
		{60, untrusted},
		{35, ftpexec.ErrTLS},
		{28, ftpexec.ErrTimeout},
		{7, ftpexec.ErrConnect},
		{9, refusedTo("CWD x")},
		{13, refusedTo("EPSV")},
		{30, refusedTo("PORT 1")},
		{17, refusedTo("TYPE I")},
		{18, ftpexec.ErrTruncated},
		{78, ftpexec.ErrNotFound},
		{19, ftpexec.ErrRefused},
		{8, ftpexec.ErrProtocol},
		{56, ftpexec.ErrLost},
		{130, context.Canceled},
	}
	if len(codes) != len(exits) {
		t.Fatalf("%d errors for %d rows of exits", len(codes), len(exits))
	}
	for i, x := range codes {
		if exits[i].code != x.code || !exits[i].are(x.err) || exitCode(x.err) != x.code {
			t.Errorf("row %d of exits has code %d, and %v has %d, want %d", i, exits[i].code, x.err, exitCode(x.err), x.code)
		}
		for _, later := range codes[i+1:] {
			if x.code == 6 && later.code == 7 { // a proxy could not resolve the name
				continue
			}
			if got := exitCode(errors.Join(x.err, later.err)); got != x.code {
				t.Errorf("%v and %v: exit code %d, want %d", x.err, later.err, got, x.code)
			}
		}
	}
}

// TestOrderOfHints does for the table hints what TestOrderOfExits does for exits.
func TestOrderOfHints(t *testing.T) {
	wrong := &localfile.Error{Path: "f", Err: download.ErrDigest, Elsewhere: true}
	expired := x509.CertificateInvalidError{Reason: x509.Expired}
	kinds := []error{
		localfile.ErrOther, localfile.ErrKind, localfile.ErrShorter, fs.ErrExist, wrong, localfile.ErrName, download.ErrResume, download.ErrUnverified, netrc.ErrUnusable,
		errors.Join(ftpexec.ErrIsDirectory, ftpexec.ErrRefused), ftpexec.ErrIsDirectory,
		ftpexec.ErrTLSRequired, x509.UnknownAuthorityError{}, expired, untrusted, gateway.ErrWithheld, syscall.EMFILE, syscall.ENOBUFS,
		syscall.EADDRNOTAVAIL, ftpexec.ErrDataHost, ftpexec.ErrNoCredentials, urlparse.ErrPort, urlparse.ErrScheme,
		ftpexec.ErrMore, ftpexec.ErrFewer, ftpexec.ErrSilent,
	}
	if len(kinds) != len(hints) {
		t.Fatalf("%d errors for %d rows of hints", len(kinds), len(hints))
	}
	for i, err := range kinds {
		for _, later := range kinds[i:] {
			if got := hintFor(errors.Join(err, later)); got != hints[i].text || !hints[i].are(err) {
				t.Errorf("%v and %v: the hint is %q, want that of row %d, %q", err, later, got, i, hints[i].text)
			}
		}
	}
}
