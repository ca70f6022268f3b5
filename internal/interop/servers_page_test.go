//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/rules/must"
)

// note explains a value that was measured.
type note struct {
	feature string
	value   string // its beginning
	kinds   []Kind // nil means every server with that value
	text    string
}

const pageHead = `# How ftpfetch and FTP servers get on

<!-- Written by: go test -tags interop ./internal/interop -run TestServers -update -->

Everything in the tables was measured: the test connects to each server, which is a real process on the loopback
interface, and the check of every change measures again and compares. [internal/interop/README.md](../internal/interop/README.md)
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
vsftpd and FileZilla Server list all (` + "`" + `ls.c` + "`" + `; ` + "`" + `Permissions.cpp` + "`" + ` of 0.9, ` + "`" + `commander.cpp` + "`" + ` of 1). About IIS, glftpd and, but for
recursive listings, Serv-U nothing was found.

## Not measured

Debian 12 has no package of bftpd, uftpd, tnftpd or Apache FtpServer, and its busybox is built without ftpd. ftp-srv needs
some forty packages of Node.js. FileZilla Server, IIS, Serv-U, z/OS and other servers that do not run on Linux or are not free
are known here only by their replies: the scripts in ` + "`ftpexec/hostile_test.go`" + ` and the wordings in
` + "`ftpexec/reading.go`" + ` come from their sources, manuals and users' reports.
`

// serversPage returns docs/servers.md.
func serversPage(t *testing.T, measured map[Kind]cells) []byte {
	b := &bytes.Buffer{}
	b.WriteString(pageHead)
	b.WriteString("\n| server | version |\n|---|---|\n")
	for _, f := range servers {
		v := must.Get(f.version())(t)
		fmt.Fprintf(b, "| %s | %s |\n", f.kind, v)
	}
	used := map[int]bool{}
	for _, table := range tables {
		fmt.Fprintf(b, "\n## %s\n\n", table.title)
		if table.text != "" {
			fmt.Fprintf(b, "%s\n\n", table.text)
		}
		numbers := map[int]int{} // of the notes below this table
		cell := func(f feature, kind Kind) string { return annotated(f, kind, measured[kind][f.name], numbers) }
		if table.replies {
			writeReplies(b, table, cell)
		} else {
			writeFeatures(b, table, cell)
		}
		writeNotes(b, numbers)
		for i := range numbers {
			used[i] = true
		}
	}
	for i, n := range notes {
		if !used[i] {
			t.Errorf("nothing measured is like this any more: %s, %q: %s", n.feature, n.value, n.text)
		}
	}
	b.WriteString(pageFoot)
	return b.Bytes()
}

// annotated returns a value with the number of the note about it.
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

// writeFeatures writes a row for each feature.
func writeFeatures(b *bytes.Buffer, table table, cell func(feature, Kind) string) {
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
		for _, f := range servers {
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
