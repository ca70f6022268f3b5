package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"example.com/ftpfetch/cmd/internal/cli/commands"
	"example.com/ftpfetch/cmd/internal/cli/config"
	"example.com/ftpfetch/cmd/internal/cli/netrc"
	"example.com/ftpfetch/docs"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/throwaway"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// wrapped wraps err as the library does.
func wrapped(err error) error {
	return &ftpexec.Error{Op: "RETR x", URL: "ftp://h/x", Err: fmt.Errorf("%w: more", err)}
}

func refusedTo(op string) error {
	return &ftpexec.Error{Op: op, URL: "ftp://h/x", Err: ftpexec.ErrRefused}
}

func TestExitCode(t *testing.T) {
	_, scheme := urlparse.Parse("gopher://h/")
	_, malformed := urlparse.Parse("ftp://h/a b")
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{scheme, 1},
		{config.Usage("no"), 2},
		{errAtWork, 75},
		{errDiffers, 80},
		{malformed, 3},
		{wrapped(&net.DNSError{}), 6},
		{wrapped(ftpexec.ErrConnect), 7},
		{localfile.Failure("l", "the ledger cannot be used", ledger.ErrAtWork), 75},
		{&commands.Error{How: "ended with exit code 1"}, 123},
		{wrapped(ftpexec.ErrProtocol), 8},
		{refusedTo("CWD x"), 9},
		{refusedTo("EPSV"), 13},
		{wrapped(netrc.ErrUnusable), 26},
		{refusedTo("TYPE I"), 17},
		{wrapped(ftpexec.ErrTruncated), 18},
		{wrapped(ftpexec.ErrRefused), 19},
		{&localfile.Error{Err: fs.ErrExist}, 23},
		{&localfile.Error{Err: localfile.ErrName}, 23},
		{&localfile.Error{Err: syscall.ENOSPC}, 23},
		{ftpexec.ErrChanged, 18},
		{download.ErrResume, 36},
		{download.ErrDigest, 100},
		{download.ErrUnverified, 100},
		{wrapped(ftpexec.ErrTimeout), 28},
		{context.DeadlineExceeded, 28},
		{new(run{Config: new(config.Config)}).tooLong(), 28},
		{refusedTo("PORT 1"), 30},
		{wrapped(ftpexec.ErrTLS), 35},
		{wrapped(ftpexec.ErrLost), 56},
		{wrapped(&tls.CertificateVerificationError{Err: errors.New("no")}), 60},
		{refusedTo("AUTH TLS"), 64},
		{wrapped(ftpexec.ErrLogin), 67},
		{wrapped(ftpexec.ErrNoCredentials), 67},
		{wrapped(ftpexec.ErrNotFound), 78},
		{context.Canceled, 130},
		{&SignalError{os.Interrupt}, 130},
		{wrapped(&SignalError{os.Interrupt}), 130},
		{&SignalError{syscall.SIGTERM}, 143},
		{&SignalError{syscall.SIGHUP}, 129},
		{localfile.Failure("", "", syscall.EPIPE), 141},
		{localfile.Failure("", "", io.ErrClosedPipe), 141},
		{wrapped(ftpexec.ErrLine), 8},
		{wrapped(ftpexec.ErrIsDirectory), 2},
		{wrapped(syscall.ENOTDIR), 2},
		{localfile.Failure("f", "cannot be created", syscall.ENOTDIR), 23},
		{wrapped(syscall.EPIPE), 43}, // an EPIPE of the network, not of standard output
		{errors.New("unheard of"), 43},
	} {
		if got := exitCode(tt.err); got != tt.want {
			t.Errorf("exitCode(%v) = %d, want %d", tt.err, got, tt.want)
		}
	}
}

// TestDescribe checks that a description hides passwords and has one hint.
func TestDescribe(t *testing.T) {
	err := &ftpexec.Error{
		Op: "login", URL: "ftp://me:***@h/x", Hint: "library's hint",
		Err: fmt.Errorf("%w: no terminal", ftpexec.ErrNoCredentials),
	}
	want := ftpexec.ErrNoCredentials.Error() + ": no terminal (--password-stdin or ~/.netrc)"
	if got, _ := Explain(err); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	err.Err = ftpexec.ErrLogin
	if got, _ := Explain(err); got != "login refused (library's hint)" {
		t.Errorf("got %s", got)
	}
	if got, _ := Explain(syscall.ENOBUFS); got != syscall.ENOBUFS.Error()+" (a smaller -j or -s needs less memory)" {
		t.Errorf("got %s", got)
	}
}

// TestExitCodesAreDocumented checks that the help and the man page name each code.
func TestExitCodesAreDocumented(t *testing.T) {
	codes := []int{exitOK, exitOther, 129, 143} // errors have the others
	for _, e := range exits {
		if !slices.Contains(codes, e.code) {
			codes = append(codes, e.code)
		}
	}
	_, help, _ := strings.Cut(config.Text("help"), "Exit codes")
	for _, code := range codes {
		for where, row := range map[string]string{help: fmt.Sprintf(`(?m)(^|  ) *%d  \S`, code), docs.Man: fmt.Sprintf(`\n\.B %d\n\w`, code)} {
			if !regexp.MustCompile(row).MatchString(where) {
				t.Errorf("%.20q has no %s", where, row)
			}
		}
	}
	if n := len(regexp.MustCompile(`(?m)(^|  ) *\d+  \S`).FindAllString(help, -1)); n != len(codes) {
		t.Errorf("the help has %d codes, not %d", n, len(codes))
	}
}

// misfit is a command that fails with a hint, and what the hint proposes.
type misfit struct {
	server testserver.Options
	local  string // files as "name=contents", separated by spaces; \n is a line end
	args   string // URL stands for the server's address with its scheme, ADDR for the address alone
	hint   string // a part of the message
	// then holds the ways that the hint proposes, each from the same situation. A way is one or more of "+WORDS" (add them
	// in front), "OLD=>NEW" (in the arguments) and "rm FILE", separated by "; ". The message must name each flag in it.
	then []string
}

// hex is the MD5 digest of "contents".
const hex = "98bf7d8c15784f0a3d63204441e1e2aa"

var needsTLS = testserver.Options{Scheme: "ftpes"}
var hasTLS = testserver.Options{TLSConfig: &tls.Config{}}
var terminated = testserver.Options{Scheme: "ftps", Fault: func(c *testserver.Conn) testserver.Action { // TLS is added before it
	if c.Verb == "PBSZ" || c.Verb == "PROT" {
		return testserver.Reply("502 No.")
	}
	return nil
}}

// noName refuses a directory without a name, as vsftpd does.
var noName = testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
	if c.Verb == "CWD" && c.Arg == "" {
		return testserver.Reply("550 Failed to change directory.")
	}
	return nil
}}

// implicit speaks TLS from the first byte.
var implicit = testserver.Options{Scheme: "ftps"}

// late has a certificate that is out of date.
var late = testserver.Options{Scheme: "ftpes", TLSConfig: &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
	return &tls.Config{Certificates: []tls.Certificate{outOfDate()}}, nil
}}}

var strict = testserver.Options{Users: map[string]string{"anonymous": "none"}}

// farm names another host than its own in the replies to PASV, and knows no EPSV.
var farm = func() testserver.Options {
	var data atomic.Bool
	return testserver.Options{
		Fault: func(c *testserver.Conn) testserver.Action {
			if c.Verb == "EPSV" {
				return testserver.Reply("500 what?")
			}
			data.Store(c.Verb == "PASV")
			return nil
		},
		Listen: func() (net.Listener, error) {
			if data.Swap(false) {
				return net.Listen("tcp", "127.0.0.2:0")
			}
			return net.Listen("tcp", "127.0.0.1:0")
		},
	}
}()

var misfits = []misfit{
	// Local files
	{local: "f=old", args: "URL/f", hint: "-N updates it, --overwrite replaces it, --no-clobber skips it", then: []string{"+-N", "+--overwrite", "+--no-clobber"}},
	{local: "f=cont", args: "URL/f", hint: "-c fetches the rest if it was left unfinished, -N updates it, --overwrite replaces it, --no-clobber skips it",
		then: []string{"+-c", "+-N", "+--overwrite", "+--no-clobber"}},
	{local: "f=contentz", args: "--checksum md5:HEX URL/f", hint: "--overwrite replaces it", then: []string{"+--overwrite"}},
	{local: "v=contentz", args: "--verify URL/v", hint: "--overwrite replaces it", then: []string{"+--overwrite"}},
	{args: "URL/f/", hint: `It is a file: leave out the last "/", and write ftp://127.0.0.1:`, then: []string{"URL/f/=>URL/f"}},
	{args: "-r URL/d/a.txt/", hint: `It is a file: leave out the last "/", and write ftp://127.0.0.1:`, then: []string{"a.txt/=>a.txt"}},
	{args: "URL/f/x", hint: "f is a file"},
	{args: "URL/per%cent", hint: "There is ftp://127.0.0.1:", then: []string{"per%cent=>per%25cent"}},
	{args: "URL/per%ent", hint: "/per%25ent", then: []string{"per%ent=>per%25cent"}},
	{args: "URL//d/absent", hint: "/%2Fd/absent for the path from the root", then: []string{"URL//d/absent=>URL/%2Fd/a.txt"}},
	{args: "URL//absent", hint: "/%2F/absent for the path from the root", then: []string{"URL//absent=>URL/%2F/f"}},
	{server: noName, args: "URL//d/a.txt", hint: "/%2Fd/a.txt for the path from the root", then: []string{"URL//=>URL/%2F"}},
	{args: "-n -r URL/d/", hint: "-n takes the user from the netrc file, which has none for 127.0.0.1: drop -n, or write --dry-run to see what would be fetched",
		then: []string{"-n=>", "-n=>--dry-run"}},
	{local: `f=old l=url\tpath\tsize\nURL/f\tf\t8\n`, args: "--manifest l", hint: "exists with 3 bytes, not the expected 8 (--overwrite replaces it)", then: []string{"+--overwrite"}},
	{local: "f=contents,longer", args: "-c URL/f", hint: "--overwrite, without -c or -N, starts over", then: []string{"-c=>--overwrite"}},
	{local: "f=contentz f.aria2=x", args: "-N URL/f", hint: "lacks pieces, as f.aria2 shows (--overwrite, without -c or -N, starts over", then: []string{"-N=>--overwrite"}},
	{args: "URL/d%2Fa.txt", hint: "-o FILE saves it under another name", then: []string{"+-o FILE"}},
	{local: "sub/x=1", args: "-o sub URL/f", hint: "use -d sub to save in it", then: []string{"-o=>-d"}},
	{args: "-j 2 URL/d%2Fa.txt URL/f", hint: "-o FILE saves it under another name, if it is fetched alone", then: []string{"-j 2=>-o FILE; URL/f=>"}},
	{args: "-o a/b/c.txt URL/f", hint: "there is no directory a/b: write -d a/b -o c.txt", then: []string{"-o a/b/c.txt=>-d a/b -o c.txt"}},
	{args: "-d new -o b/c.txt URL/f", hint: "write -d new/b -o c.txt", then: []string{"-d new -o b/c.txt=>-d new/b -o c.txt"}},
	{args: "--verify URL/f", hint: "--checksum ALGO:HEX gives the digest of one file", then: []string{"+--checksum md5:HEX"}},
	{args: "--checksum md5:HEX URL/d/", hint: "--checksum and --verify apply to files, but the URL names a directory", then: []string{"--checksum md5:HEX=>"}},
	{local: `l=URL/d/same\nURL/e/same\n`, args: "-i l", hint: "--keep-dirs saves each file under the directories of its URL", then: []string{"+--keep-dirs"}},
	{local: `l=HEX\x20\x20f\n`, args: "--manifest l --format sums", hint: "--base URL", then: []string{"+--base URL/"}},

	// Logins and TLS
	{server: needsTLS, args: "--insecure ftp://ADDR/f", hint: "--tls explicit asks for it, and so does ftpes:// in place of ftp://", then: []string{"+--tls explicit", "ftp://=>ftpes://"}},
	{server: hasTLS, args: "--insecure ftps://ADDR/f", hint: "perhaps the server expects ftpes:// in place of ftps://", then: []string{"ftps://=>ftpes://"}},
	{server: hasTLS, args: "--insecure --tls implicit ftp://ADDR/f", hint: "or --tls explicit in place of --tls implicit", then: []string{"implicit=>explicit", "ftp://=>ftpes://"}},
	{server: terminated, args: "--insecure ftps://ADDR/f", hint: "the server does not encrypt data connections: it refuses PROT (502 No.). Perhaps a relay adds TLS to a server that has none: " +
		"write ftp:// and that server's own port, where the network is trusted"},
	{server: needsTLS, args: "ftpes://ADDR/f", hint: "--cacert FILE trusts the authority in FILE, or the server's own certificate", then: []string{"+--cacert ca.pem"}},
	{server: farm, args: "URL/f", hint: "the server names another host for data, 127.0.0.2 (--mode pasv-host connects to it, if the server is trusted)", then: []string{"+--mode pasv-host"}},
	{server: late, args: "ftpes://ADDR/f", hint: "certificate not trusted: it expired on 2020-01-02 03:04 UTC (the server needs a new one, unless the clock here is wrong; " +
		"--cacert FILE trusts the server's own certificate in FILE, whatever its names and times)", then: []string{"+--cacert late.pem"}},
	{server: implicit, args: "--insecure --timeout 2s ftp://ADDR/f", hint: "the server speaks TLS from the first byte (write ftps://127.0.0.1:", then: []string{"ftp://=>ftps://"}},
	{args: "ftp://me@ADDR/f", hint: "--password-stdin or ~/.netrc", then: []string{"+--password-stdin"}},
	{local: `netrc=machine\x20127.0.0.1\x20login\x20me\x20password\x20secret\n`, server: strict, args: "URL/f",
		hint: "-n takes the login for 127.0.0.1 from the netrc file", then: []string{"+-n"}},

	{local: `netrc=machine\x20127.0.0.1\x20login\x20me\x20password\x20secret\n`, args: "URL/absent",
		hint: "-n takes the login for 127.0.0.1 from the netrc file, and the server may show it more"},
	{args: "URL/d/**/a.txt", hint: "write the directory before ** alone, with -r and --accept",
		then: []string{"URL/d/**/a.txt=>-r --accept a.txt URL/d/"}},
	{server: strict, args: "URL/f", hint: "-u NAME logs in as a user of the server", then: []string{"+-u me:secret"}},
	{args: "-u me,secret URL/f", hint: "write NAME or NAME:PASSWORD, or a name with a comma in the URL", then: []string{"me,secret=>me:secret", "-u me,secret URL=>ftp://me:secret@ADDR"}},

	// Patterns and lists
	{args: "--glob URL/[de]", hint: "only directories match [de] (-r fetches what is in them)", then: []string{"+-r"}},
	{args: "-I URL/d/", hint: "-r shows what is in it", then: []string{"+-r"}},
	{args: "--json URL/f", hint: "leave out --json to fetch it; -I shows its size and time", then: []string{"--json=>-I", "--json=>"}},
	{args: "-l URL/f", hint: "leave out -l to fetch it; -I shows its size and time", then: []string{"-l=>-I", "-l=>"}},
	{args: "-i URL/none", hint: "-i reads URLs from it: leave -i out to fetch it"},
	{args: "URL/d/*.txt", hint: "--glob takes it as a pattern of names: ftpfetch --glob 'ftp://127.0.0.1:", then: []string{"+--glob"}},
	{args: "-r URL/d/*.txt", hint: "--glob takes it as a pattern of names: ftpfetch --glob -r 'ftp://127.0.0.1:", then: []string{"+--glob"}},
	{server: testserver.Options{}, args: "ftp://me:secret@ADDR/d/*.txt", hint: "--glob takes it as a pattern of names: ftpfetch --glob 'ftp://me:***@127.0.0.1:"},
	{local: `u.txt=URL/f\n`, args: "u.txt", hint: "-i u.txt fetches the URLs in that file", then: []string{"u.txt=>-i u.txt"}},
	{args: "URL/f new.txt", hint: "-o new.txt saves under that name, -d new.txt in that directory", then: []string{"new.txt=>-o new.txt", "new.txt=>-d new.txt"}},
	{args: "URL/d/ *.txt", hint: "*.txt' fetches what matches", then: []string{"URL/d/ *.txt=>--glob URL/d/*.txt"}},
	{args: "URL/{25..28}/f", hint: "as a pattern, {25..28} is no range of days: write [25-28]"},
	{args: "URL/f out/", hint: "-d out/ saves in that directory", then: []string{"out/=>-d out/"}},
	{args: "-r URL/d/ new", hint: "the scheme is missing; -d new saves in that directory", then: []string{" new=> -d new"}},
	{args: "-N URL/d/", hint: "-d, -N and -c do not apply to listings: add -r to fetch the files, or -o FILE to save the listing", then: []string{"+-r"}},
	{args: "-d g URL/d/", hint: "-d, -N and -c do not apply to listings: add -r to fetch the files, or -o FILE to save the listing", then: []string{"+-r"}},
	{args: "URL/d/same URL/e/same", hint: "--keep-dirs saves each file under the directories of its URL", then: []string{"+--keep-dirs"}},
	{local: `m=URL/d/same\tftp://LOCAL/d/same\n`, args: "URL/d/same ftp://LOCAL/d/same", hint: "of one file on several servers, write the URLs on one line of a list, with tabs between them, and -i LIST",
		then: []string{"URL/d/same ftp://LOCAL/d/same=>-i m"}},
	{args: "URL/x?", hint: "--glob takes it as a pattern of names: ftpfetch --glob 'ftp://127.0.0.1:"},
	{args: "-r URL/d .", hint: "leave it out: the tree is saved here, under its name", then: []string{" .=>"}},
	{local: "m/x=y", args: "-r URL/d m", hint: "-d m --keep-dirs=1 saves the tree in that directory, under its name", then: []string{"URL/d m=>URL/d -d m --keep-dirs=1"}},
	{args: "-o g.log URL/none", hint: "-o names the file that is fetched: 2>>g.log at the end keeps what is said"},
	{args: "URL/f -", hint: "-o - writes to standard output"},
	{args: "URL/f fetch.log", hint: "2>>fetch.log at the end keeps what is said"},
	{args: "h.example.org 2121", hint: "write ftp://h.example.org:2121/ and the path"},
	{args: "h.example.org d/f", hint: "write ftp://h.example.org/d/f"},
	{args: "h.example::d/f", hint: "write ftp://h.example/d/f"},
	{args: "URL/My Docs/a file.pdf", hint: "My%20Docs/a%20file.pdf'"},
	{args: "URL/x_%Y%m%d.gz", hint: `the shell fills in the date: write "ftp://127.0.0.1:`},
	{args: "URL/x_%Y%m%d.gz", hint: `/x_$(date +%Y%m%d).gz"`},
	{args: "URL/[x].txt", hint: "/%5Bx%5D.txt"},
	{args: "-n h.example.org", hint: "there are no commands to send: write ftp://host/path/file"},
	{args: "URL/f,URL/f", hint: "several URLs are joined by commas: write blanks between them"},
	{args: "open h.example.org", hint: "there are no commands to send: write ftpfetch ftp://h.example.org/, or a path after it"},
	{local: "f=mine", args: "put f", hint: "nothing can be uploaded: files are only fetched"},
	{args: "h.example.org . /d/*.gz", hint: "write ftpfetch --glob 'ftp://h.example.org/d/*.gz'"},
	{args: "-u me h.example.org out /d/f", hint: "write ftpfetch -u me -d out ftp://h.example.org/d/f"},
	{args: "ftps://127.0.0.1:990/f", hint: "ftpes:// asks for it on port 21"},
	{args: "h.example.org out /d/f", hint: "write ftpfetch -d out ftp://h.example.org/d/f"},
	{args: "--verify SHA256SUMS URL/f", hint: "--verify finds the list beside the file; --manifest URL/SHA256SUMS takes one"},
	{args: "--speed-limit 1MB/s URL/f", hint: "it is the least rate, --limit-rate the greatest", then: []string{"--speed-limit 1MB/s=>--limit-rate 1M"}},
	{args: "-j 2 URL/d/same URL/e/same", hint: "--keep-dirs saves each file under the directories of its URL", then: []string{"+--keep-dirs"}},
	{args: "-j 2 URL/d/ URL/f", hint: "-r fetches what is in it", then: []string{"+-r"}},
	{args: "-r -d m URL/m/", hint: "has a name that ftpfetch gives its own files: --reject leaves it out", then: []string{"+--reject .ftpfetch-*"}},
	{args: "URL/d", hint: `End the URL in "/" to list it; -r fetches what is in it`, then: []string{"URL/d=>URL/d/", "+-r"}},

	// URLs
	{args: "URL/;type=i", hint: "write ;type=d to list the directory", then: []string{";type=i=>;type=d"}},
	{args: "ftp://127.0.0.1.:PORT/f", hint: "write 127.0.0.1", then: []string{"127.0.0.1.=>127.0.0.1"}},
	{args: "ftp://sl:a/b@ADDR/f", hint: `write %2F for a "/"`, then: []string{"a/b=>a%2Fb"}},
	{args: "ftp://n.invalid:12/b@ADDR/f", hint: `if the "/" is part of a password, write %2F for it`, then: []string{"12/b=>12%2Fb"}},
	{args: "fpt://ADDR/f", hint: "write ftp://", then: []string{"fpt=>ftp"}},
	{args: "ftp://me:a@c:r/t@ADDR/f", hint: `write %40, %3A, %2F and %23 for "@", ":", "/" and "#" in it`},
	{args: "ftp://sl:a#b@ADDR/f", hint: "write %23", then: []string{"sl:a#b=>sh:a%23b"}},
	{args: "127.0.0.1:/d/a.txt", hint: `write ftp://127.0.0.1/%2Fd/a.txt`, then: []string{"127.0.0.1:/=>ftp://ADDR/%2F"}},

	{args: "ftp://me@ADDR/f", hint: "for one machine: write a machine entry for each login", then: []string{"+--netrc=right"},
		local: `netrc=machine\x20127.0.0.1\x20login\x20me\x20password\x20a\x20password\x20b\n right=machine\x20127.0.0.1\x20login\x20me\x20password\x20secret\n`},
}

// TestHints runs each command, which must fail with its hint. It then tries each way that the hint proposes, which must
// retrieve something.
func TestHints(t *testing.T) {
	for _, m := range misfits {
		t.Run(m.args, func(t *testing.T) {
			says := ""
			for _, way := range append([]string{""}, m.then...) {
				code, out, message, s := m.run(t, way)
				if way == "" {
					says = message
				}
				switch {
				case unnamed(way, says) != "":
					t.Errorf("%s: the message does not name %s: %s", way, unnamed(way, says), says)
				case way == "" && (code == exitOK || !strings.Contains(message, m.hint)):
					t.Errorf("exit %d, %q, want %q", code, message, m.hint)
				case way != "" && code != exitOK:
					t.Errorf("%s: exit %d, %s", way, code, message)
				case way != "" && out == "" && !retrieved(t) && !strings.Contains(way, "--no-clobber"):
					t.Errorf("%s: got nothing from %q", way, s.Commands())
				}
			}
			m.runWhole(t, says)
		})
	}
}

// proposed is a whole command in a message.
var proposed = regexp.MustCompile(`: ftpfetch ((?:'[^']*'|[^')\n])*)`)

// runWhole runs the whole command that the message shows, if any. A hint that consists of one flag, for one URL, must
// show one.
func (m *misfit) runWhole(t *testing.T, says string) {
	t.Helper()
	shown := proposed.FindStringSubmatch(says)
	if lone := strings.Count(m.args, "URL")+strings.Count(m.args, "ADDR") == 1; (shown != nil) != (lone && oneFlag().MatchString(m.hint)) {
		t.Errorf("the message shows the command %q", shown)
	}
	if shown == nil || strings.Contains(shown[1], "***") { // a password is hidden
		return
	}
	old := regexp.MustCompile(`127\.0\.0\.1:\d+`) // each run has a server of its own
	whole := *m
	whole.args = strings.ReplaceAll(old.ReplaceAllString(shown[1], "ADDR"), "'", "")
	if code, out, message, _ := whole.run(t, ""); code != exitOK || out == "" && !retrieved(t) {
		t.Errorf("ftpfetch %s: exit %d, %q", whole.args, code, message)
	}
}

// TestEveryHint checks that for each text of the program that names a flag, a test tries what the text says: in
// misfits, in the tables of packages config, batch and manifest, or in a script.
func TestEveryHint(t *testing.T) {
	tests := ""
	for _, pattern := range []string{"*_test.go", "config/*_test.go", "testdata/script/*", "../../../download/*/*_test.go", "../../../download/*/testdata/*.t*", "../gateway/*_test.go", "../../../internal/glob/*_test.go"} {
		for _, file := range must.Get(filepath.Glob(pattern))(t) {
			tests += strings.NewReplacer(`\`, "").Replace(string(must.Get(os.ReadFile(file))(t)))
		}
	}
	flag, verb := regexp.MustCompile(`(?:^|[ (])--?[a-zA-Z][a-z-]*\b.*[a-z]{3}`), regexp.MustCompile(`%\.?[0-9]*[a-z]`)
	for _, pattern := range []string{"*.go", "../../../download/*.go", "../../../download/*/*.go", "../../../ftpexec/*.go", "../gateway/*.go", "../../../internal/glob/*.go", "../../../urlparse/*.go"} {
		for _, file := range must.Get(filepath.Glob(pattern))(t) {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if must.Do(t, err); strings.HasSuffix(file, "_test.go") {
				continue
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
					for _, said := range verb.Split(must.Get(strconv.Unquote(text.Value))(t), -1) {
						if flag.MatchString(said) && !strings.Contains(tests, strings.Trim(said, " ():;,\n")) {
							t.Errorf("%s: no test has %q", file, said)
						}
					}
				}
				return true
			})
		}
	}
}

// unnamed returns a flag that the way adds but the message does not name.
func unnamed(way, says string) string {
	_, added, replaces := strings.Cut(way, "=>")
	if !replaces {
		added = strings.TrimPrefix(way, "+")
	}
	for word := range strings.FieldsSeq(added) {
		if word[0] == '-' && word[1] != '-' {
			word = word[:2]
		}
		if name, _, _ := strings.Cut(word, "="); word[0] == '-' && !strings.Contains(says, name) {
			return name
		}
	}
	return ""
}

// run sets up the situation, applies the way, and runs the command.
func (m *misfit) run(t *testing.T, way string) (code int, out, message string, s *testserver.Server) {
	t.Helper()
	o := m.server
	o.Users = map[string]string{"me": "secret", "sl": "a/b", "sh": "a#b", "n.invalid": "12/b"}
	maps.Copy(o.Users, m.server.Users)
	o.Tree = map[string]string{"/f": "contents", "/x1": "contents", "/x2": "contents", "/n01": "contents", "/n02": "contents", "/d/a.txt": "contents",
		"/d/same": "contents", "/e/same": "contents", "/x;1": "contents", "/x%": "contents", "/per%cent": "contents", "/v": "contents", "/v.md5": hex + "  v\n", "/d/": "",
		"/m/same": "contents", "/m/.ftpfetch-trash/x": "x"}
	s = testserver.New(t, &o)
	t.Chdir(t.TempDir())
	t.Setenv("NETRC", "netrc")
	url := strings.NewReplacer("URL", strings.TrimSuffix(s.URL("/"), "/"), "HEX", hex, "ADDR", s.Addr(), "LOCAL", strings.Replace(s.Addr(), "127.0.0.1", "localhost", 1), "PORT", s.Addr()[strings.LastIndexByte(s.Addr(), ':')+1:])
	m.files(t, url, s)
	line := m.args
	for step := range strings.SplitSeq(way, "; ") {
		before, after, replaces := strings.Cut(step, "=>")
		name, removes := strings.CutPrefix(step, "rm ")
		switch {
		case removes:
			must.Do(t, os.Remove(name))
		case replaces:
			line = strings.ReplaceAll(line, before, after)
		default:
			line = strings.TrimPrefix(step, "+") + " " + line
		}
	}
	code, out, message = m.command(t, strings.FieldsFunc(url.Replace(line), func(r rune) bool { return r == ' ' }))
	return code, out, message, s
}

func (m *misfit) files(t *testing.T, url *strings.Replacer, s *testserver.Server) {
	t.Helper()
	write := func(name, text string) {
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o777))
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
	id := must.Get(throwaway.Loopback())(t)
	write("ca.pem", string(id.RootPEM()))
	write("late.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: outOfDate().Certificate[0]})))
	for file := range strings.FieldsSeq(m.local) {
		name, text, _ := strings.Cut(file, "=")
		write(name, url.Replace(strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\x20`, " ").Replace(text)))
	}
}

func (m *misfit) command(t *testing.T, args []string) (code int, out, message string) {
	var stdout, stderr bytes.Buffer
	code = Run(t.Context(), args, IO{In: strings.NewReader("secret\n"), Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

// retrieved reports whether a file in the current directory has the contents.
func retrieved(t *testing.T) (found bool) {
	must.Do(t, filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, rerr := os.ReadFile(path)
			found, err = found || string(text) == "contents" || path == "l" && string(text) == "a.txt\nsame\n", rerr
		}
		return err
	}))
	return found
}
