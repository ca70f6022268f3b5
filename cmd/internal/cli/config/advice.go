package config

import (
	"slices"
	"strings"

	"example.com/ftpfetch/internal/lazy"
)

// advised is what to write in place of a flag or a command of other programs that [habits] cannot translate, or not
// with each value. docs/coming-from.md explains more.
var advised = []struct{ spelling, write string }{
	{"-a --append-output --log", "2>>FILE at the end keeps what is said"},
	{"-b --background --daemon", "& at the end of the command"},
	{"-e --execute --set", "write flags in the command, such as --proxy URL, -u NAME, -N, --delete"},
	{"--include-regex --exclude-regex --accept-regex --reject-regex",
		"--accept PATTERN and --reject PATTERN, with the patterns of a shell"},
	{"-K --config --rc --conf-path", "write the flags in the command"},
	{"-M --metalink-file", "--manifest FILE"},
	{"--script --batch", "there are no commands to send: write ftp://host/path/file"},
	{"-p -P --port", "write ftp://host:PORT/path; -u NAME asks for a password"},
	{"-Q --quote --request --ftp-method --ftp-alternative-to-user",
		"ftpfetch sends the commands that the URL needs, and no others"},
	{"-T --upload-file --upload put mput upload", "ftpfetch only downloads"},
	{"-w", "ftpfetch chooses its pauses itself; --progress json tells sizes and rates"},
	{"--write-out", "--progress json tells sizes and rates"},
	{"-X --exclude-directories", "--reject /NAME/ leaves out a directory of the tree"},
	{"-I --include-directories", "--accept '/NAME/**' fetches one directory of the tree"},
	{"-nd --no-directories --flat", "--glob 'URL/*' fetches the files of one directory"},
	{"-z --time-cond", "-N fetches a file only if the server's is newer"},
	{"-1", "a directory's URL alone prints the names"},
	{"--limit", "--newest N fetches only the newest, --limit-rate RATE limits the speed"},
	{"--check-sums --checksums --sha256sums --md5sums --verify-checksum --check-checksum",
		"--verify compares with the server's list of digests, --manifest LIST with another one"},
	{"--md5 --sha1 --sha256 --sha512",
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
	{"diff compare", "-r --check -d DIR compares a directory with the server"},
	{"open cd lcd quit bye user binary", "there are no commands to send: write ftp://host/path/file"},
	{"newest latest", "--newest N with --glob or -r"},
	{"ncftpls", "-l URL/ lists"},
	{"ncftpget ncftp lftpget wget curl aria2c", "only the flags and the URL"},
}

// lost is what a user loses if a flag of another program is left out of the command.
var lost = map[string]string{
	"--random-wait": "ftpfetch chooses its pauses itself",
	"--retry-delay": "ftpfetch chooses its pauses itself",
	"--retry-wait":  "ftpfetch chooses its pauses itself",
	"--wait":        "ftpfetch chooses its pauses itself",
	"--waitretry":   "ftpfetch chooses its pauses itself",
	"-w":            "ftpfetch chooses its pauses itself",
	"--remote-time": "a file always has the server's time",
	"--user-agent":  "FTP has no headers",
	"--header":      "FTP has no headers",
	"--referer":     "FTP has no headers",
	"-A":            "FTP has no headers",
	"-H":            "FTP has no headers",
	"-U":            "FTP has no headers",
}

// adviceOn returns what to write in place of a flag or a command, or "".
func adviceOn(spelling string) string {
	for _, a := range advised {
		if slices.Contains(strings.Fields(a.spelling), spelling) {
			return a.write
		}
	}
	rows := make(map[string]bool)
	write := ""
	for _, h := range habits {
		if h.has(spelling) && h.write != "" {
			rows[h.write] = true
			write = h.write
		}
	}
	if len(rows) == 1 {
		return "perhaps " + write
	}
	return ""
}

// blamed matches what is said of a flag or command that ftpfetch does not have.
var blamed = lazy.Regexp(`^(?:unknown flag (\S+)|(\S+) is not a command: write flags and URLs)$`)

// advise adds to what is said of flags and commands what to write in their place.
func advise(lines []string) []string {
	for i, line := range lines {
		if m := blamed().FindStringSubmatch(line); m != nil {
			if advice := adviceOn(m[1] + m[2]); advice != "" {
				lines[i] += ": " + advice
			}
		}
	}
	return lines
}
