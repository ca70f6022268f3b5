package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// manPage is the man page, in the macros of man(7). Flags, exit codes, the
// description and the examples are those of the help text.
func manPage() string {
	var b strings.Builder
	b.WriteString(`.\" Made by ftpfetch --man.` + "\n.TH FTPFETCH 1 \"\" ftpfetch \"User Commands\"\n.nh\n.ad l\n")
	section(&b, "NAME", `ftpfetch \- `+roff(summary)+"\n")
	section(&b, "SYNOPSIS", ".B ftpfetch\n[\\fIflags\\fR]\n.IR URL ...\n")
	section(&b, "DESCRIPTION", paragraphs(description+manDescription))
	section(&b, "OPTIONS", manFlags())
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
A file appears under its final name only after every byte arrived, the server
confirmed the end of the transfer, a digest that was given agreed, and the data
reached the disk. Until then it is NAME.part, and a later run goes on from there
where the server still has the same file.

What is asked for goes to standard output; progress and errors go to standard
error. No password is shown in either. A message waits for its reader no longer
than --timeout; signals and --max-time end a run also where no output is read.

Each segment of the URL's path but the last is one CWD command, with its
%-escapes decoded: ftp://host/pub/x is relative to the directory that the login
leads to, and ftp://host/%2Fetc/motd is /etc/motd. See --dry-run.
`

const manEvents = `
--progress json writes one JSON object a line to standard error. Its event is
start, progress (at most once a second for each file), retry, note, done or
error; time and version stand in each, and where they are known url, path,
size, offset, received, rate, attempt, delay, seconds, skipped, verified, text,
error and code. Passwords do not.
`

// manEnvironment and manFiles are blocks of a term and, in the lines behind it,
// its meaning.
const manEnvironment = `
ftp_proxy, FTP_PROXY, all_proxy, ALL_PROXY
the URL of the proxy to go through where --proxy is not given; the first that is
set counts. One without a scheme is http://, as it is with --proxy. Connections
to loopback addresses and localhost go past a proxy that a variable names.

no_proxy, NO_PROXY
hosts, domains and address ranges, with commas between them, that are connected
to directly; "*" is all. They do not count where --proxy names the proxy.

NETRC
the netrc file to read in place of ~/.netrc
`

const manFiles = `
~/.netrc
logins for servers that ask for a password; one with a password is used only where
no other user can read it. See --netrc, --netrc-file and --no-netrc.

NAME.part
a file that is not complete yet

NAME.part.json
what is known of it: the URL without its password, the file's size and time on
the server, and what has arrived; with it the next run resumes NAME.part

NAME.bad
a file whose digest did not agree
`

const manStandards = `
RFC 1738 (URLs), RFC 959 and RFC 1123 section 4.1 (FTP), RFC 2428 (EPSV and
EPRT), RFC 3659 (SIZE, MDTM, REST, MLSD), RFC 4217 (FTP over TLS).
`

func section(b *strings.Builder, title, body string) {
	b.WriteString(".SH " + title + "\n" + body)
}

// manFlags is every flag under its group's title.
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

// manFlag is a flag as it is written: -o, --output FILE.
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

// manDefault is what counts where a flag is not given, as --help shows it.
func manDefault(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "0", "false":
		return ""
	}
	return " (default " + roff(f.DefValue) + ")"
}

// manUsage sets the value's name, which stands in backquotes, in italics.
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

// paragraphs sets text whose paragraphs are divided by empty lines.
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

// definitions sets blocks that are divided by empty lines: the first line of
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

// roff writes a line of text so that roff shows it as it is.
func roff(s string) string {
	s = roffEscapes.Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}
