//go:build interop

package interop

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
)

// note explains a measured value.
type note struct {
	feature string
	value   string // its beginning
	kinds   []Kind // nil means every server with that value
	text    string
}

const pageHead = `# FTP servers and ftpfetch

<!-- Written by: go test -tags interop ./lab/interop -run TestServers -update -->

The test measured everything in the tables: it connects to each server, which is a real process on the loopback
interface, and the check of every change measures again and compares. [lab/interop/README.md](../lab/interop/README.md)
says how the servers are set up. All of them serve the same files, read-only.

"no: 502" is the code of the refusal, "-" means that the server, or its set-up here, does not have the feature. The last
column says what ftpfetch does where servers differ.
`

const pageFoot = `
## Limits of listings

pure-ftpd lists at most ` + "`" + `LimitRecursion` + "`" + ` names (10000; 2000 and 7500 in older set-ups) and then says ` + "`" + `226 Output truncated to 10000
matches` + "`" + `, or that in another language (` + "`" + `ls.c` + "`" + `, ` + "`" + `messages_*.h` + "`" + `; ` + "`" + `TestListingLimit` + "`" + `). proftpd's ` + "`" + `ListOptions maxfiles` + "`" + ` and ` + "`" + `maxdirs` + "`" + ` cut
` + "`" + `LIST` + "`" + ` and ` + "`" + `NLST` + "`" + ` with ` + "`" + `226 Transfer complete` + "`" + `, but not ` + "`" + `MLSD` + "`" + ` (` + "`" + `mod_ls.c` + "`" + `, ` + "`" + `mod_facts.c` + "`" + `). z/OS says ` + "`" + `451 Nlst failed, too many
entries` + "`" + ` (IBM's messages), wu-ftpd ` + "`" + `550 Arguments too long` + "`" + ` to ` + "`" + `NLST` + "`" + ` (` + "`" + `glob.c` + "`" + `). vsftpd reports by 226 that it could not open a directory.
vsftpd and FileZilla Server list all (` + "`" + `ls.c` + "`" + `; ` + "`" + `Permissions.cpp` + "`" + ` of 0.9, ` + "`" + `commander.cpp` + "`" + ` of 1). We found nothing
about IIS and glftpd, nor about Serv-U except for recursive listings.

## What relays and small servers need

` + "`" + `TestOthers` + "`" + ` fetches a list from each, with a missing file after each that exists.

| server | what it does | what ftpfetch does |
|---|---|---|
| ftp-proxy (SuSE's FTP proxy) | answers ` + "`" + `USER` + "`" + ` with the server's ` + "`" + `220` + "`" + ` and ` + "`" + `PASS` + "`" + `, sent with it, with ` + "`" + `503` + "`" + `; ` + "`" + `PASV` + "`" + ` before the replies that are due | one command at a time from the second connection on |
| mod_proxy (of proftpd) | says ` + "`" + `425` + "`" + ` in place of a refusal of ` + "`" + `RETR` + "`" + `, and may answer the next command with that refusal; passes on a ` + "`" + `230` + "`" + ` to ` + "`" + `USER` + "`" + `, and then wants ` + "`" + `PASS` + "`" + ` | a new connection after a ` + "`" + `425` + "`" + `; not found, or a directory, by what it says to ` + "`" + `SIZE` + "`" + `; ` + "`" + `PASS` + "`" + ` after a 530 |
| ftp-srv, goftp, rclone | ` + "`" + `551` + "`" + ` to ` + "`" + `RETR` + "`" + ` of a missing file and of a directory | not found if ` + "`" + `SIZE` + "`" + ` is refused too, a directory if ` + "`" + `CWD` + "`" + ` enters it |
| goftp | ` + "`" + `SIZE` + "`" + ` of a link counts its text, and the ` + "`" + `150` + "`" + ` the file | the larger size, until one of them has been right |
| ftpd (npm) | takes all that comes in one write for one command; gives every connection the same port; sends nothing of a directory that is retrieved, and says nothing more | one command at a time, by its greeting; after one time-out a new connection finds out that it is a directory |
| ftpserverlib 0.32.3 | looks for the name of ` + "`" + `HASH` + "`" + ` and ` + "`" + `XMD5` + "`" + ` in its root, and reads the file of that name in the working directory; takes what follows a space for a range | the path from the root, in quotes if it has a space; a reply about another file or a part does not count |
| proftpd, inetutils, pure-ftpd, pyftpdlib | ` + "`" + `LIST` + "`" + ` of a day ahead of now has no year | ` + "`" + `MDTM` + "`" + ` says the year of a day that may be ahead (` + "`" + `-l` + "`" + `, ` + "`" + `-I -r` + "`" + `, filters by age) |
| proftpd with ` + "`" + `MaxRetrieveFileSize` + "`" + ` | ` + "`" + `150` + "`" + `, no byte, ` + "`" + `426` + "`" + ` | tries it twice |
| relays and servers with a wrong ` + "`" + `SIZE` + "`" + `; files that grow | more bytes than announced, or fewer and ` + "`" + `226` + "`" + ` | tries it twice; ` + "`" + `--range 0-now` + "`" + ` takes a growing file as it is |
| busybox ftpd 1.35 | lists ` + "`" + `?` + "`" + ` for letters that it cannot print, and does not find the file under that name | "not found" says so; only the file's own name brings it |
| ftp-srv | takes a directory ` + "`" + `-d` + "`" + ` in ` + "`" + `CWD -d` + "`" + ` for an option | the hint is ` + "`" + `pub%2F-d/` + "`" + `, by which the name does not come first |
| Squid, ftpd (npm); aioftp; Globus, ftp-proxy | cut the blanks at both ends of a name; at its end; at its beginning. ` + "`" + `SIZE` + "`" + ` and ` + "`" + `RETR` + "`" + ` of ` + "`" + `x ` + "`" + ` are then about the file ` + "`" + `x` + "`" + ` | a file of a tree whose name begins or ends with a blank must have the size that its directory lists (` + "`" + `TestBlankEnds` + "`" + `) |

## Not measured

Debian 12 has no package of bftpd, uftpd, tnftpd or Apache FtpServer, and its busybox is built without ftpd. FileZilla Server, IIS, Serv-U, z/OS and other servers that do not run on Linux or are not free
are known here only by their replies: the scripts in ` + "`ftpexec/hostile_test.go`" + ` and the wordings in
` + "`ftpexec/testdata/replies.txt`" + ` come from their sources, manuals and users' reports.
`

// serversPage returns docs/servers.md.
func serversPage(t *testing.T, measured map[Kind]cells) []byte {
	b := &bytes.Buffer{}
	b.WriteString(pageHead)
	b.WriteString("\n| server | version |\n|---|---|\n")
	for _, f := range measuredServers {
		v := must.Get(f.version())(t)
		fmt.Fprintf(b, "| %s | %s |\n", f.kind, v)
	}
	used := map[int]bool{}
	for _, table := range tables {
		fmt.Fprintf(b, "\n## %s\n\n", table.title)
		if table.text != "" {
			fmt.Fprintf(b, "%s\n\n", table.text)
		}
		numbers := map[int]int{} // numbers of the notes below this table
		cell := func(f feature, kind Kind) string { return annotated(f, kind, measured[kind][f.name], numbers) }
		if table.replies {
			writeReplies(b, table, cell)
		} else {
			writeFeatures(b, table, servers, cell)
			b.WriteString("\n")
			writeFeatures(b, table, others, cell)
		}
		writeNotes(b, numbers)
		for i := range numbers {
			used[i] = true
		}
	}
	for i, n := range notes {
		if *update && !used[i] {
			t.Errorf("nothing measured is like this any more: %s, %q: %s", n.feature, n.value, n.text)
		}
	}
	b.WriteString(pageFoot)
	return b.Bytes()
}

// annotated returns a value with the number of its note.
func annotated(f feature, kind Kind, value string, numbers map[int]int) string {
	for i, n := range notes {
		if n.feature == f.name && strings.HasPrefix(value, n.value) && (n.kinds == nil || slices.Contains(n.kinds, kind)) {
			if numbers[i] == 0 {
				numbers[i] = len(numbers) + 1
			}
			value += fmt.Sprintf(" [%d]", numbers[i])
		}
	}
	return value
}

// measuredServers are all servers and relays.
var measuredServers = slices.Concat(servers, others)

// writeFeatures writes a row for each feature, with a column for each server.
func writeFeatures(b *bytes.Buffer, table table, servers []flavour, cell func(feature, Kind) string) {
	b.WriteString("| |")
	for _, f := range servers {
		fmt.Fprintf(b, " %s |", f.kind)
	}
	b.WriteString(" ftpfetch |\n|" + strings.Repeat("---|", len(servers)+2) + "\n")
	for _, feature := range table.features {
		fmt.Fprintf(b, "| %s |", feature.name)
		for _, f := range servers {
			fmt.Fprintf(b, " %s |", cell(feature, f.kind))
		}
		fmt.Fprintf(b, " %s |\n", feature.copes)
	}
}

// writeReplies writes a table with a row for each server, one for each feature.
func writeReplies(b *bytes.Buffer, table table, cell func(feature, Kind) string) {
	for i, feature := range table.features {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "| server | %s |\n|---|---|\n", feature.name)
		for _, f := range measuredServers {
			fmt.Fprintf(b, "| %s | %s |\n", f.kind, cell(feature, f.kind))
		}
	}
}

// writeNotes writes the notes of a table in the order of their numbers.
func writeNotes(b *bytes.Buffer, numbers map[int]int) {
	texts := make([]string, len(numbers))
	for i, number := range numbers {
		texts[number-1] = notes[i].text
	}
	for i, text := range texts {
		fmt.Fprintf(b, "\n[%d] %s\n", i+1, text)
	}
}

// notes explain the values in the tables. A note that applies to no measured value fails the test.
var notes = []note{
	{"implicit TLS", "no: 503", nil, "aioftp wants a login before `PROT P`; RFC 4217 does not, and ftpfetch does not log in without protection."},
	{"data resume the session, TLS 1.3", "no", []Kind{PureFTPd}, "pure-ftpd sends no ticket of TLS 1.3, and does not insist."},
	{"data resume the session, TLS 1.2", "yes", []Kind{Proftpd}, "Where TLS 1.3 is allowed too. With `TLSProtocol TLSv1.2` alone proftpd gives session IDs and no tickets, " +
		"and Go resumes by tickets: `TLSSessionTickets on` or `TLSOptions NoSessionReuseRequired` lets ftpfetch in, and its error says so (`TestTLSWithoutTickets`)."},
	{"data without the session", "refused", nil, "By default vsftpd (`require_ssl_reuse`) and proftpd refuse it, after the `150`: `TestTLS`."},
	{"`LIST`", "no", []Kind{Netkit}, "ftpd-ssl runs `ls`, which is not in the directory that an anonymous user is confined to. The listing is empty, and a " +
		"`226` follows it. So ftpfetch takes an empty `LIST` for an empty directory only if `NLST` returns no names either " +
		"(`TestEntriesWays`)."},
	{"`LIST -a` shows them", "no: 550", nil, "aioftp treats `-a` as a name."},
	{"`NLST`", "no", nil, "twisted wants an argument, aioftp has no `NLST`. RFC 959 asks for neither (`TestListWithoutNLST`)."},
	{"a link, as ftpfetch sees it", "?---------", nil, "Of an entry of `NLST` only the name is known."},
	{"`REST` outlasts `EPSV`", "no", nil, "A client that sends `REST` before `EPSV` gets the whole file and may append it to what it has."},
	{"LF in ASCII type", "hangs", nil, "twisted 22.4 on Python 3 fails inside and says nothing. ftpfetch gives up after its timeout."},
	{"LF in ASCII type", "LF", nil, "The bytes of the file, although RFC 959 says CR LF. ftpfetch reads both."},
	{"CR LF in ASCII type", "CR CR LF", nil, "A text that has CR LF on the server's disk grows. Retrieve it in image type."},
	{"data connection closed in the middle", "150", []Kind{PureFTPd}, "pure-ftpd sends another `150` in place of the final reply. Under TLS it often sends nothing: ftpfetch waits for two seconds, " +
		"once, and then closes the connection of each transfer that it leaves (`TestLeaveTLS`)."},
	{"data connection closed in the middle", "", []Kind{Aioftp, Inetutils}, "aioftp ends the connection. inetutils does so if it writes after the data connection has been reset. The next transfer then logs in again."},
	{"files that cannot be retrieved", "", []Kind{Proftpd, Aioftp}, "The server drops spaces at the beginning of a name."},
	{"files that cannot be retrieved", "", []Kind{PureFTPd}, "pure-ftpd refuses control characters."},
	{"files that cannot be retrieved", "", []Kind{Pyftpdlib, Twisted}, "The server knows names as text in UTF-8; a single byte above 7F is not UTF-8."},
	{"files that cannot be retrieved", "", []Kind{Inetutils, Netkit}, "The server takes FF for an escape of TELNET (RFC 854)."},
	{"files that cannot be retrieved", "-", []Kind{Nodeftpd}, "Not measured: each name that npm's ftpd does not find costs a time-out."},
	{"files that the listing misses", "no listing", nil, "One name that is not UTF-8 breaks the listing off. ftpfetch reports that, and yields no entry."},
	{"commands sent ahead", "replies out of order", nil, "aioftp runs the commands of a flight at the same time, against RFC 959 section 5.4 (`TestAnomalies`)."},
	{"`EPSV` at the end of the data", "no", []Kind{Aioftp}, "After the first login is given up, as above."},
	{"`RETR` without permission", "the file, ", nil, "The server, or this set-up of it, runs as root."},
	{"one connection more than the limit", "-", nil, "inetutils' and NetKit's ftpd leave that to inetd, ftpserverlib to the program that uses it. The relays and small servers are set up without a limit."},
	{"a client that says nothing for too long", "-", nil, "pure-ftpd counts in minutes. The relays and small servers keep their defaults."},
	{"a client that says nothing for too long", "`closed`", nil, "The connection ends without a reply."},
}

var update = flag.Bool("update", false, "write docs/servers.md")

const serversFile = "../../docs/servers.md"

// TestServers measures the servers, and checks that docs/servers.md has the same values. With -update it also measures
// the relays and small servers, which takes minutes. Some of these answer now so and now so: look at what changes.
func TestServers(t *testing.T) {
	t.Parallel()
	which := servers
	if *update {
		which = measuredServers
	}
	measured := measure(t, which)
	if t.Failed() {
		return
	}
	page := string(serversPage(t, measured))
	if *update {
		must.Do(t, os.WriteFile(serversFile, []byte(page), 0o666))
		return
	}
	committed := string(must.Get(os.ReadFile(serversFile))(t))
	if was, is := withoutOthers(committed, page), withoutOthers(page, page); was != is {
		t.Errorf("docs/servers.md is not what was measured: go test -tags interop ./lab/interop -run TestServers -update\n%s",
			differences(was, is))
	}
}

// withoutOthers returns a page without the values of relays and small servers, and without the notes that page, which
// has no such values, does not need.
func withoutOthers(text, page string) string {
	var b strings.Builder
	table := false // of relays and small servers
	for line := range strings.Lines(text) {
		table = strings.HasPrefix(line, "| | "+string(others[0].kind)+" |") || table && line != "\n"
		own := slices.ContainsFunc(others, func(f flavour) bool { return strings.HasPrefix(line, "| "+string(f.kind)+" | ") })
		_, note, _ := strings.Cut(line, "] ")
		needless := strings.HasPrefix(line, "[") && !strings.Contains(page, note)
		if !table && !own && !needless && line != "\n" {
			b.WriteString(line)
		}
	}
	return b.String()
}

// differences returns the lines that only one of two texts has.
func differences(was, is string) string {
	var b strings.Builder
	old, now := strings.Split(was, "\n"), strings.Split(is, "\n")
	for mark, in := range map[string][2][]string{"-": {old, now}, "+": {now, old}} {
		for _, line := range in[0] {
			if !slices.Contains(in[1], line) {
				b.WriteString(mark + line + "\n")
			}
		}
	}
	return b.String()
}

// cells are the values of a server, by feature.
type cells map[string]string

// measure measures servers, and the tables of each, in parallel: some servers are silent for a long time.
func measure(t *testing.T, which []flavour) map[Kind]cells {
	tree := plantProbe(t)
	var mu sync.Mutex
	all := map[Kind]cells{}
	t.Run("measure", func(t *testing.T) {
		for _, f := range which {
			t.Run(string(f.kind), func(t *testing.T) {
				t.Parallel()
				o := Options{}
				if f.upstream {
					o.Upstream = New(t, Proftpd, tree, Options{}).Addr
				}
				got, plain := cells{}, New(t, f.kind, tree, o)
				mu.Lock()
				defer mu.Unlock()
				all[f.kind] = got
				for _, table := range tables {
					t.Run(table.title, func(t *testing.T) {
						t.Parallel()
						p := &probe{TB: t, kind: f.kind, flavour: f, tree: tree, plain: plain}
						for _, feature := range table.features {
							value := feature.measure(p)
							mu.Lock()
							got[feature.name] = value
							mu.Unlock()
						}
					})
				}
			})
		}
	})
	return all
}

// sources are where the versions of servers stand that are no package of Debian: a file and a pattern.
var sources = map[Kind][2]string{
	Library:  {"../../go.mod", `fclairamb/ftpserverlib v(\S+)`},
	Goftp:    {"small/go.mod", `goftp.io/server/v2 v(\S+)`},
	Rclone:   {"small/go.mod", `rclone/rclone v(\S+)`},
	FtpSrv:   {"install.sh", `ftp-srv@([0-9.]+)`},
	Nodeftpd: {"install.sh", ` ftpd@([0-9.]+)`},
}

// version returns the upstream version of a server's package or module.
func (f flavour) version() (string, error) {
	source, ok := sources[f.kind]
	if !ok {
		return Version(f.pkg)
	}
	text, err := os.ReadFile(source[0])
	found := regexp.MustCompile(source[1]).FindSubmatch(text)
	if err != nil || found == nil {
		return "", fmt.Errorf("%s does not name the version of %s (%w)", source[0], f.kind, err)
	}
	return string(found[1]), nil
}
