package config

import (
	"regexp"
	"slices"
	"strings"

	"example.com/ftpfetch/internal/lazy"
)

// advised is what to write in place of a flag or a command of other programs that [habits] cannot translate, or not
// with each value. docs/coming-from.md explains more.
var advised = []struct{ spelling, write string }{
	{"--append-output --log --log-file --logfile", "2>>FILE at the end keeps what is said"},
	{"-b -D --background --daemon", "& at the end of the command"},
	{"-e --execute --set", "write flags in the command, such as --proxy URL, -u NAME, -N, --delete"},
	{"--include-regex --exclude-regex --accept-regex --reject-regex",
		"--accept PATTERN and --reject PATTERN, with the patterns of a shell"},
	{"-K --config --rc --conf-path", "write the flags in the command"},
	{"-M --metalink-file", "--manifest FILE"},
	{"--script --batch", "there are no commands to send: write ftp://host/path/file"},
	{"--pass", "-u NAME asks for the password"},
	{"--parameterized-uri", "--glob takes it as a pattern"},
	{"--newer-date", "-I tells the time of one file; with --glob or -r --newer-than DATE leaves out older ones"},
	{"--port", "write ftp://host:PORT/path"},
	{"--quote --request --ftp-method --ftp-alternative-to-user",
		"ftpfetch sends the commands that the URL needs, and no others"},
	{"-T --upload-file --upload put mput upload --data --data-binary --form", "ftpfetch only downloads"},
	{"--anonymous", "a URL without a user logs in as anonymous"},
	{"zcat --unzip --decompress --gunzip", "-o - URL | gunzip"},
	{"md5sum sha256sum sha1sum hashsum",
		"-q -o - URL | sha256sum prints the digest, --verify compares with the server's list"},
	{"-w", "ftpfetch chooses its pauses itself; --progress json tells sizes and rates"},
	{"--write-out", "--progress json tells sizes and rates"},
	{"--exclude-directories", "--reject /NAME/ leaves out a directory of the tree"},
	{"--include-directories", "--accept '/NAME/**' fetches one directory of the tree"},
	{"-nd --no-directories --flat", "--glob 'URL/*' fetches the files of one directory"},
	{"--time-cond", "-N fetches a file only if the server's is newer"},
	{"-f --command-file", "there are no commands to send: write ftp://host/path/file"},
	{"-y --speed-time", "--speed-limit RATE/TIME"},
	{"--max-filesize", "-I tells the size of one file; with --glob or -r --max-size SIZE leaves out larger ones"},
	{"--url", "the URL alone"},
	{"--save-session", "--report FILE keeps how each file ended"},
	{"--today", "--newer-than today"},
	{"--state", "--once remembers in the directory of the files"},
	{"--pattern", "--glob 'URL/PATTERN', or -r --accept PATTERN in a tree"},
	{"--accept-list", "--accept PATTERN"},
	{"--reject-list", "--reject PATTERN"},
	{"--ignore-case", "write both letters in a pattern, as in '*.[jJ][pP][gG]'"},
	{"--trace --trace-ascii", "-v shows the dialogue, 2>FILE keeps it"},
	{"--log-level", "-v says more, -q less"},
	{"--ftp-host --ftp-port --host", "write ftp://host:PORT/path"},
	{"--ftps-implicit", "ftps:// means it"},
	{"rm rmdir del delete mkdir rename chmod --delete-after",
		"nothing is changed on the server: ftpfetch only downloads"},
	{"more less", "-o - URL | less"},
	{"--to", "-d DIR or -o FILE"},
	{"--head", "-I prints size and time, --range 0-N fetches the first bytes"},
	{"-1", "a directory's URL alone prints the names"},
	{"--limit", "--newest N fetches only the newest, --limit-rate RATE limits the speed"},
	{"--check-sums --checksums --sha256sums --md5sums --check-checksum --verify-checksum --verify-checksums " +
		"--checksum-file",
		"--verify compares with the server's list of digests, --manifest LIST with another one"},
	{"--md5 --sha1 --sha256 --sha512 --md5sum --sha1sum --sha256sum --sha512sum",
		"--checksum sha256:HEX compares with one digest, --verify with the server's list"},
	{"--exclude-from --include-from --filter --filter-from", "--reject PATTERN or --accept PATTERN for each"},
	{"--files-from --files", "--manifest FILE --map url=1 --base URL"},
	{"--password-file", "--password-stdin <FILE"},
	{"--size-only --ignore-times --whole-file", "-N compares size and time"},
	{"--backups --quota --remove-source-files --auto-file-renaming --keep-session-cookies",
		"ftpfetch has nothing like it"},
	{"--noproxy", "the variable NO_PROXY"},
	{"--proxy-user --proxy-passwd", "--proxy http://user:password@host:port"},
	{"--on-download-error --on-download-start --on-complete",
		`--exec 'COMMAND "$1"' runs for each file that is complete`},
	{"sync",
		"-r -N -d DIR fetches what is new; with --delete it deletes what it had fetched and the server no longer has"},
	{"move", "ftpfetch deletes nothing on the server: -r -N -d DIR fetches"},
	{"--compare diff compare check", "-r --check -d DIR compares a directory here with the server"},
	{"open cd lcd quit bye user binary", "there are no commands to send: write ftp://host/path/file"},
	{"newest latest", "--newest N with --glob or -r"},
	{"ncftpls", "-l URL/ lists"},
	{"ncftpget ncftp lftpget wget curl aria2c", "only the flags and the URL"},
}

const (
	newerToo   = "-N replaces a file here that is newer, too, if it has another size"
	ownPauses  = "ftpfetch chooses its pauses itself"
	noHeaders  = "FTP has no headers"
	ownDigests = "--verify compares with the list of digests beside the file"
)

// losses are what the user of a flag loses, or gets besides, when it is translated or left out.
var losses = []struct{ program, spelling, text string }{
	{"wget", "-w --wait --waitretry --random-wait", ownPauses},
	{"curl", "--retry-delay --retry-max-time", ownPauses},
	{"aria2", "--retry-wait", ownPauses},
	{"wget", "-U --user-agent --header --referer", noHeaders},
	{"curl", "-A --user-agent -H --header --referer", noHeaders},
	{"aria2", "-V --check-integrity", ownDigests},
	{"aria2", "--remote-time", "a file always has the server's time"},
	{"rsync", "-u", newerToo},
	{"rclone", "-u", newerToo},
	{"any", "--update --only-newer", newerToo},
	{"rclone", "lsd", "files are listed too"},
	{"rclone", "lsjson",
		"--json prints an object for each entry, with name, size, time and type: jq -s makes an array of them"},
}

// lossOf returns what is lost with a row of the habits, or "".
func lossOf(h habit, spelling string) string {
	for _, l := range losses {
		if l.program == h.program && slices.Contains(strings.Fields(l.spelling), spelling) {
			return spelling + ": " + l.text
		}
	}
	return ""
}

// ofLetters are flags of one letter. Each program means something else by them: the verb before them, or what follows,
// tells which long flag of advised is meant.
var ofLetters = []struct{ letter, verb, next, long string }{
	{"-R", "mirror", ``, "--upload"},
	{"-e", "", `^(get|mget|pget|mirror|ls|cat|open|cd|lcd|set|user) |;`, "--script"},
	{"-x", "mirror", ``, "--exclude-regex"},
	{"-a", "", `[.](log|txt)$`, "--append-output"},
	{"-p", "", `^[0-9]+$`, "--port"},
	{"-P", "", `^[0-9]+$`, "--port"},
	{"-p", "", `^[^-/.:]+$`, "--pass"},
	{"-P", "", `[{[]`, "--parameterized-uri"},
	{"-X", "", `^[A-Z]{4}\b`, "--request"},
	{"-X", "", `^[^A-Z]`, "--exclude-directories"},
	{"-Q", "", `^[0-9]+[kKmMgG]?$`, "--quota"},
	{"-Q", "", `^[A-Za-z*+-]`, "--quote"},
	{"-z", "", `^[0-9]{4}-?[0-9]{2}|^[0-9]+ [a-z]`, "--newer-date"},
	{"-z", "", `^[^0-9-]`, "--time-cond"},
	{"-a", "", `^(ftp|ftps|ftpes)://`, "--anonymous"},
	{"-A", "", `[*?]|^[.a-z0-9,]+$`, "--accept-list"},
}

// adviceOn returns what to write in place of a flag or a command, or "". next is what follows it.
func (l *line) adviceOn(spelling, next string) string {
	for _, m := range ofLetters {
		fits := m.letter == spelling && (m.verb == "" || m.verb == l.verb)
		if fits && (m.next == "" || regexp.MustCompile(m.next).MatchString(next)) {
			spelling = m.long
		}
	}
	for _, a := range advised {
		if slices.Contains(strings.Fields(a.spelling), spelling) {
			return a.write
		}
	}
	if denied().MatchString(next) { // the value after "="
		return ""
	}
	rows := make(map[string]bool)
	write := ""
	for _, h := range habits {
		if h.has(spelling) && h.write != "" {
			rows[h.write] = true
			write = h.write
		}
	}
	if len(rows) == 1 && len(spelling) != 2 { // letters have too many meanings
		return "perhaps " + write
	}
	return ""
}

// blamed matches what is said of a flag or command that ftpfetch does not have.
var blamed = lazy.Regexp(`^(?:unknown flag (\S+)|(\S+) is not a command: write flags and URLs)$`)

// denied matches a value that turns a flag off.
var denied = lazy.Regexp(`^(no|false|off|0)$`)

// advise adds to what is said of flags and commands what to write in their place.
func (l *line) advise(lines []string) []string {
	for i, line := range lines {
		m := blamed().FindStringSubmatch(line)
		if m == nil || m[2] == "mirror" && slices.Contains(lines, "unknown flag -R") {
			continue
		}
		if advice := l.adviceOn(m[1]+m[2], l.followed[m[1]]); advice != "" {
			lines[i] += ": " + advice
		}
	}
	return lines
}
