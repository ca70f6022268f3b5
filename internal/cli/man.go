package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// manPage returns the man page, in the macros of man(7). It shares flags, exit
// codes, the description and the examples with the help text.
func manPage() string {
	var b strings.Builder
	b.WriteString(`.\" Made by ftpfetch --man.` + "\n.TH FTPFETCH 1 \"\" ftpfetch \"User Commands\"\n.nh\n.ad l\n")
	section(&b, "NAME", `ftpfetch \- `+roff(summary)+"\n")
	section(&b, "SYNOPSIS", ".B ftpfetch\n[\\fIflags\\fR]\n.IR URL ...\n")
	section(&b, "DESCRIPTION", paragraphs(description+manDescription))
	section(&b, "OPTIONS", manFlags())
	section(&b, "MANY FILES", paragraphs(manMany))
	section(&b, "EXIT STATUS", manExits())
	section(&b, "ENVIRONMENT", definitions(manEnvironment))
	section(&b, "EVENTS", paragraphs(manEvents))
	section(&b, "FILES", definitions(manFiles))
	section(&b, "EXAMPLES", manExamples())
	section(&b, "STANDARDS", paragraphs(manStandards))
	section(&b, "SEE ALSO", ".BR curl (1),\n.BR lftp (1),\n.BR netrc (5),\n.BR sha256sum (1)\n")
	return b.String()
}

const manDescription = `
A file gets its final name only after every byte has arrived, the server has
confirmed the end of the transfer, the digest, if one was asked for, has matched,
and the data is on the disk. Until then it is called NAME.part, and a later run
resumes it if the server still has the same file.

Data and listings go to standard output, progress and errors to standard error.
Neither shows a password. A message waits for its reader no longer than
--timeout. Signals and --max-time end a run even if its output is not read.

Each segment of the URL's path except the last becomes one CWD command, with its
%-escapes decoded: ftp://host/pub/x is relative to the login directory, and
ftp://host/%2Fetc/motd is /etc/motd. See --dry-run.

A flag of wget, curl, aria2 or lftp that ftpfetch does not have, or that means
something else here, ends the run with a line that says what to write.
docs/coming-from.md in the source lists them all.
`

// manMany describes lists and trees.
const manMany = `
-i, --manifest, -r and --glob fetch many files. Each is verified as a single one
is. The last line on standard error says "N of M complete"; the exit code is 0
only if nothing is missing. The same command again fetches only the rest.

-j N is the number of connections, in total and to one server; --per-host allows
fewer to one server. Without either there are four in total and two to one server.
A server that says that it has too many connections gets fewer, and the file waits
for its turn. -j auto finds the number of connections by trying.

--report FILE has line, url, path, status (complete, before, failed or link),
size, sum, verified, error and code for each file.
`

const manEvents = `
--progress json writes one JSON object per line to standard error. Its event is
start, progress (at most once a second for each file), retry, note, done or
error, and for many files total (at most once a second) and end. Each has time and
version and, if they are known, url, path, size, offset, received, rate, attempt,
delay, seconds, skipped, verified, text, error, code, files, complete and failed.
None has a password.
`

// manEnvironment and manFiles are blocks: the first line is a term, the others
// its meaning.
const manEnvironment = `
ftp_proxy, FTP_PROXY, all_proxy, ALL_PROXY
the URL of the proxy to use if --proxy is not given; the first that is set counts.
Without a scheme it means http://, as with --proxy. Connections to loopback
addresses and localhost do not use a proxy from a variable.

no_proxy, NO_PROXY
a comma-separated list of hosts, domains and address ranges to connect to
directly; "*" means all. It does not apply to a proxy that --proxy names.

NETRC
the netrc file to read instead of ~/.netrc
`

const manFiles = `
~/.netrc
logins for servers that ask for a password. ftpfetch takes passwords from it only
if no other user can read it. See --netrc, --netrc-file and --no-netrc.

NAME.part
an incomplete file

NAME.part.json
the journal of NAME.part: the URL without its password, the file's size and time
on the server, and the bytes that have arrived. The next run needs it to resume
NAME.part.

NAME.bad
a file whose digest did not match

.ftpfetch-ledger
in the output directory of lists and trees: the verified files, which the next run
skips. A shard's ledger is .ftpfetch-ledger-I-of-N.
`

const manStandards = `
RFC 1738 and RFC 3986 (URLs), RFC 1035, RFC 1123 section 2.1 and RFC 5890 (host
names), RFC 959 and RFC 1123 section 4.1 (FTP), RFC 854 (line ends in ASCII type),
RFC 2389 (FEAT), RFC 2428 (EPSV and EPRT), RFC 2640 (UTF-8), RFC 3659 (SIZE, MDTM,
REST, MLST and MLSD), RFC 4217 (FTP over TLS), draft-bryan-ftpext-hash (HASH),
RFC 1928 and RFC 1929 (SOCKS5), RFC 9110, RFC 9112 and RFC 7617 (HTTP proxies),
RFC 3339 (times in JSON), RFC 4180 (CSV).
`

func section(b *strings.Builder, title, body string) {
	b.WriteString(".SH " + title + "\n" + body)
}

// manFlags lists every flag under its group's title.
func manFlags() string {
	var b strings.Builder
	for _, g := range new(options).groups() {
		b.WriteString(".SS " + roff(g.title) + "\n")
		g.VisitAll(func(f *pflag.Flag) {
			b.WriteString(".TP\n" + manFlag(f) + "\n" + manUsage(f.Usage) + manDefault(f) + "\n")
		})
	}
	return b.String()
}

// manFlag returns the spelling of a flag: -o, --output FILE.
func manFlag(f *pflag.Flag) string {
	text := `\fB` + roff("--"+f.Name) + `\fR`
	if f.Shorthand != "" {
		text = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + text
	}
	if value, _ := pflag.UnquoteUsage(f); value != "" {
		text += ` \fI` + roff(value) + `\fR`
	}
	return text
}

// manDefault returns the default value of a flag as --help shows it.
func manDefault(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "0", "false", "[]":
		return ""
	}
	return " (default " + roff(f.DefValue) + ")"
}

// manUsage sets the name of the value, between backquotes in usage, in italics.
func manUsage(usage string) string {
	before, rest, ok := strings.Cut(usage, "`")
	value, after, closed := strings.Cut(rest, "`")
	if !ok || !closed {
		return roff(usage)
	}
	return roff(before) + `\fI` + roff(value) + `\fR` + roff(after)
}

func manExits() string {
	var b strings.Builder
	for _, e := range exitMeanings {
		fmt.Fprintf(&b, ".TP 6\n.B %d\n%s\n", e.code, roff(e.text))
	}
	return b.String() + ".PP\n" + roff(severalURLs) + "\n"
}

func manExamples() string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(examples)) {
		b.WriteString(".PP\n.EX\n" + roff(strings.TrimSpace(line)) + "\n.EE\n")
	}
	return strings.TrimPrefix(b.String(), ".PP\n")
}

// paragraphs sets text whose paragraphs are separated by empty lines.
func paragraphs(text string) string {
	var b strings.Builder
	for i, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		for line := range strings.Lines(p) {
			b.WriteString(roff(strings.TrimSpace(line)) + "\n")
		}
	}
	return b.String()
}

// definitions sets blocks that are separated by empty lines. The first line of
// each is its term.
func definitions(text string) string {
	var b strings.Builder
	for _, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		term, meaning, _ := strings.Cut(block, "\n")
		b.WriteString(".TP\n\\fB" + roff(term) + "\\fR\n" + paragraphs(meaning))
	}
	return b.String()
}

var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`)

// roff escapes a line of text for roff.
func roff(s string) string {
	s = roffEscapes.Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}
