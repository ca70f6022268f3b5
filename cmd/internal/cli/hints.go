package cli

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"example.com/ftpfetch/cmd/internal/cli/config"
	"example.com/ftpfetch/cmd/internal/cli/netrc"
	"example.com/ftpfetch/cmd/internal/cli/show"
	"example.com/ftpfetch/cmd/internal/gateway"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/lazy"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/urlparse"
)

// hintFor returns the error's own hint, the hint that the table has for it, or "".
func hintFor(err error) string {
	if h, ok := errors.AsType[*hinted](err); ok {
		return h.hint
	}
	for _, h := range hints {
		if h.are(err) {
			return h.text
		}
	}
	return ""
}

// hinted is an error with a hint of its own, which takes precedence over the table.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

// hints says what to write instead, for errors with such a hint. The first match applies; TestOrderOfHints checks the
// order.
var hints = []struct {
	are  func(error) bool
	text string
}{
	{is(localfile.ErrOther), "--overwrite replaces it"},
	{is(localfile.ErrKind), "move it away; -r -N --delete replaces what it saved itself"},
	{is(localfile.ErrShorter), "-c fetches the rest if it was left unfinished, " +
		"-N updates it, --overwrite replaces it, --no-clobber skips it"},
	{is(fs.ErrExist), "-N updates it, --overwrite replaces it, --no-clobber skips it"},
	{differentDigest, "--overwrite replaces it"},
	{is(localfile.ErrName), "-o FILE saves it under another name"},
	{is(download.ErrResume), "--overwrite, without -c or -N, starts over"},
	{is(download.ErrUnverified), "--checksum ALGO:HEX gives the digest of one file"},
	{is(netrc.ErrUnusable), "--netrc=none ignores it"},
	{func(err error) bool {
		return errors.Is(err, ftpexec.ErrIsDirectory) && errors.Is(err, ftpexec.ErrRefused)
	},
		`End the URL in "/" to list it; -r fetches what is in it`},
	{is(ftpexec.ErrIsDirectory), "-r fetches what is in it"},
	{refusedWithoutTLS, "--tls explicit asks for it, and so does ftpes:// in place of ftp://"},
	{as[x509.UnknownAuthorityError], "--cacert FILE trusts the authority in FILE, or the server's own certificate"},
	{expired, "the server needs a new one, unless the clock here is wrong; " +
		"--cacert FILE trusts the server's own certificate in FILE, whatever its names and times"},
	{as[*tls.CertificateVerificationError],
		"--cacert FILE trusts the server's own certificate in FILE, whatever its names and times"},
	{is(gateway.ErrWithheld), "--proxy get+URL gives it these, unencrypted unless the proxy's URL is https://"},
	{is(syscall.EMFILE), "ulimit -n raises the limit, and a smaller -j or -s needs fewer"},
	{is(syscall.ENOBUFS, syscall.ENOMEM), "a smaller -j or -s needs less memory"},
	{is(syscall.EADDRNOTAVAIL), "--ip names no address of this machine"},
	{is(ftpexec.ErrDataHost), "--mode pasv-host connects to it, if the server is trusted"},
	{is(ftpexec.ErrNoCredentials), "--password-stdin or ~/.netrc"},
	{is(urlparse.ErrPort), "FTPFETCH_WITHOUT=portcheck allows it, if an FTP server is there"},
	{isForeign, "for another scheme use curl"},
	{is(ftpexec.ErrMore), "--range 0-now takes a file that grows as it is now"},
	{is(ftpexec.ErrFewer), "--range 0-N takes the bytes up to N, if the size is what is wrong"},
	{is(ftpexec.ErrSilent), "--timeout TIME waits longer"},
}

// differentDigest reports whether a file that is there has another digest than the one that is wanted.
func differentDigest(err error) bool {
	local, ok := errors.AsType[*localfile.Error](err)
	return ok && local.Path != "" && errors.Is(local.Err, download.ErrDigest)
}

// refusedWithoutTLS reports whether a reply says that TLS is required.
func refusedWithoutTLS(err error) bool {
	e, ok := errors.AsType[*ftpexec.Error](err)
	return errors.Is(err, ftpexec.ErrTLSRequired) && (!ok || e.Code != 0)
}

// expired reports whether a certificate is not valid at this time.
func expired(err error) bool {
	invalid, ok := errors.AsType[x509.CertificateInvalidError](err)
	return ok && invalid.Reason == x509.Expired
}

// hint returns a hint that depends on the command line, for a URL that failed, or "".
func (r *run) hint(u *urlparse.URL, err error) string {
	// The server does not speak TLS, or not yet. Otherwise its certificate is at fault, or it has sent an alert.
	e, _ := errors.AsType[*ftpexec.Error](err)
	noTLS := errors.Is(err, ftpexec.ErrTLS) && e != nil && e.Stage == ftpexec.StageConnect &&
		!as[*tls.CertificateVerificationError](err) && !as[tls.AlertError](err)
	switch {
	case as[*net.DNSError](err), errors.Is(err, ftpexec.ErrConnect):
		return unreachedHint(u, err)
	case errors.Is(err, ftpexec.ErrTLSRequired): // its hint is in the table
	case errors.Is(err, ftpexec.ErrLogin), errors.Is(err, ftpexec.ErrNoCredentials):
		return r.loginHint(u)
	case u.Scheme == "ftps" && noTLS:
		return "perhaps the server expects ftpes:// in place of ftps://, " +
			"or --tls explicit in place of --tls implicit"
	default:
		return cmp.Or(r.listHint(u, err), r.letterHint(u, err), r.flagHint(u, err), r.anonymousHint(u, err))
	}
	return ""
}

// unreachedHint returns a hint for a server that was not reached, or "".
func unreachedHint(u *urlparse.URL, err error) string {
	_, password := u.User.Password()
	switch {
	case u.User == nil && u.Redacted() != u.String():
		return `if the "/" is part of a password, write %2F for it`
	case password && strings.Contains(strings.Join(u.Dirs, "")+u.Name, "@"):
		return `if "@" and "/" are part of a password, write %40 and %2F for them`
	case u.Scheme == "ftps" && errors.Is(err, syscall.ECONNREFUSED):
		return "ftps:// is TLS from the first byte, usually on port 990; ftpes:// asks for it on port 21"
	}
	return ""
}

// oneFlag matches a hint that consists of one flag without a value.
var oneFlag = lazy.Regexp(`^(--?[a-z-]+) (fetches|replaces|saves|shows|takes) [^,;]*$`)

// whole adds the whole command to a hint that consists of one flag. It does so only if the command has one URL, and not
// for a hint that concerns only one file of many.
func (r *run) whole(hint string) string {
	flag := oneFlag().FindStringSubmatch(hint)
	if flag == nil || len(r.Targets) != 1 || r.lists != nil || r.Many && flag[2] == "replaces" {
		return hint
	}
	return hint + ": ftpfetch " + flag[1] + r.Written()
}

// handshakeFailure is the alert of a server that shares no cipher suite with the client (RFC 5246 section 7.2.2).
const handshakeFailure tls.AlertError = 40

// listHint returns a hint for a list that is not there, or "".
func (r *run) listHint(u *urlparse.URL, err error) string {
	if u.String() == r.Input && errors.Is(err, ftpexec.ErrNotFound) {
		return "-i reads URLs from it: leave -i out to fetch it"
	}
	return ""
}

// letterHint says what a "?" in a name from a listing may mean.
func (r *run) letterHint(u *urlparse.URL, err error) string {
	if (r.Recursive || r.Glob) && strings.Contains(u.Name, "?") && errors.Is(err, ftpexec.ErrNotFound) {
		return `some servers list "?" for a letter that they cannot show: then only the file's own name brings it`
	}
	return ""
}

// hintOfOutput returns a hint if the existing file is standard output: the shell has made it.
func (r *run) hintOfOutput(err error) string {
	local, ok := errors.AsType[*localfile.Error](err)
	if !ok || r.Many || r.Output != "" || !errors.Is(err, fs.ErrExist) {
		return ""
	}
	info, serr := os.Stat(local.Path)
	if serr != nil || !show.IsFile(r.print.Out, info) {
		return ""
	}
	return "it is standard output, where -o - writes: ftpfetch -o -" + r.Written()
}

// emptySegment returns a hint if a path begins with "//", which servers take differently.
func (r *run) emptySegment(u *urlparse.URL, err error) string {
	leads := len(u.Dirs) > 0 && u.Dirs[0] == ""
	if !leads || !is(ftpexec.ErrRefused, ftpexec.ErrNotFound)(err) || errors.Is(err, ftpexec.ErrIsDirectory) {
		return ""
	}
	root := *u
	root.Dirs = slices.Clone(u.Dirs[1:])
	if len(root.Dirs) > 0 {
		root.Dirs[0] = "/" + root.Dirs[0]
	} else {
		root.Dirs = []string{"/"}
	}
	return `"//" enters a directory without a name, which each server takes in its own way; write ` +
		root.Redacted() + " for the path from the root"
}

// flagHint is the part of hint that depends on the flags.
func (r *run) flagHint(u *urlparse.URL, err error) string {
	alert, _ := errors.AsType[tls.AlertError](err)
	switch {
	case alert == handshakeFailure && !r.NoForwardSecrecy:
		return "FTPFETCH_WITHOUT=forwardsecrecy accepts RSA key exchange, and some old servers know no other"
	case !r.Glob && mayBePattern(u) && is(ftpexec.ErrNotFound, ftpexec.ErrRefused)(err):
		return patternHint(u)
	case r.Recursive && as[*ftpexec.Error](err) && errors.Is(err, ftpexec.ErrNotFound):
		return "It is not a directory either"
	case r.looksAtFiles() && errors.Is(err, ftpexec.ErrIsDirectory):
		return "-r shows what is in it"
	case r.Many && errors.Is(err, localfile.ErrName): // -o does not apply to several files
		return "-o FILE saves it under another name, if it is fetched alone"
	case errors.Is(err, localfile.ErrTaken):
		return r.takenHint(u)
	}
	return ""
}

// takenHint returns the hint for a path that belongs to another URL.
func (r *run) takenHint(u *urlparse.URL) string {
	switch {
	case r.onSeveralServers(u):
		return "of one file on several servers, write the URLs on one line of a list, " +
			"with tabs between them, and -i LIST"
	case !r.keepsAllDirs():
		return "--keep-dirs saves each file under the directories of its URL"
	}
	return ""
}

// onSeveralServers reports whether the command line has a URL with the path of u and another host.
func (r *run) onSeveralServers(u *urlparse.URL) bool {
	return slices.ContainsFunc(r.Targets, func(t config.Target) bool {
		return t.Err == nil && t.URL.Host != u.Host && t.URL.Name == u.Name && slices.Equal(t.URL.Dirs, u.Dirs)
	})
}

// looksAtFiles reports whether the command looks at the files that URLs name, and fetches none.
func (r *run) looksAtFiles() bool { return r.Info || r.Check }

// keepsAllDirs reports whether files are saved under all directories of their URLs.
func (r *run) keepsAllDirs() bool { return r.Reading.KeepDirs && r.Reading.MostDirs == 0 }

// loginHint returns the hint for a URL without a user. For a URL with a user, the password has been looked for already.
func (r *run) loginHint(u *urlparse.URL) string {
	if u.User != nil {
		return ""
	}
	if r.hasLogin(u) {
		return "-n takes the login for " + u.Host + " from the netrc file"
	}
	return "-u NAME logs in as a user of the server"
}

// anonymousHint returns a hint if an anonymous user is shown no such file, and the netrc file has a login.
func (r *run) anonymousHint(u *urlparse.URL, err error) string {
	if !r.hasLogin(u) || !is(ftpexec.ErrNotFound, ftpexec.ErrRefused)(err) {
		return ""
	}
	return "-n takes the login for " + u.Host + " from the netrc file, and the server may show it more"
}

// patternHint returns the hint for a URL that looks like a pattern of names.
func patternHint(u *urlparse.URL) string {
	if slices.Contains(u.Dirs, "**") {
		return "write the directory before ** alone, with -r and --accept"
	}
	return "--glob takes it as a pattern of names"
}

// hasLogin reports whether the netrc file has a login for a URL without a user, and -n is not given.
func (r *run) hasLogin(u *urlparse.URL) bool {
	_, ok := r.logins.file.User(u.Host)
	return ok && u.User == nil && !r.logins.names
}

// mayBePattern reports whether u looks like a pattern of names. A name with "=" is more likely the query of a web URL.
func mayBePattern(u *urlparse.URL) bool {
	return strings.ContainsAny(strings.Join(u.Dirs, "")+u.Name, "*?") && !strings.Contains(u.Name, "=")
}

// isForeign reports whether a URL has a scheme that is not ours, nor one of ours misspelt.
func isForeign(err error) bool {
	bad, ok := errors.AsType[*urlparse.Error](err)
	return errors.Is(err, urlparse.ErrScheme) && (!ok || bad.Hint == "")
}
