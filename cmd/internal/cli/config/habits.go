package config

import (
	"regexp"
	"strconv"
	"strings"

	"example.com/ftpfetch/internal/lazy"
)

// programs are the programs whose flags people type, in the order in which they are tried.
var programs = []string{"wget", "curl", "aria2", "lftp", "rsync", "rclone", "ncftp"}

// habit says how to write here what a flag, or a command, of another program means.
type habit struct {
	program  string // the program; "any" for all of them; "" if ftpfetch obeys the flag as it is typed
	spelling string // its spellings
	value    string // a placeholder for its value, from the table of values; "" if it takes none
	write    string // the words to write, with the placeholder; "" if the flag is not needed
}

// habits is the table of what people type most. A row must mean here what it means there: testdata/habits.txt has a
// command for each. What has no row is explained by the page docs/coming-from.md.
var habits = []habit{
	{"", "-O", "FILE", "-o FILE"}, // of wget
	{"", "-O", "", ""},            // of curl
	{"", "-P", "DIR", "-d DIR"},
	{"", "-C --continue-at", "-", "-c"},
	{"", "-m --mirror", "", "-r -N"},
	{"", "-4 --ipv4 --inet4-only", "", "--ip 4"},
	{"", "-6 --ipv6 --inet6-only", "", "--ip 6"},

	{"wget", "-nc", "", "--no-clobber"},
	{"wget", "-nv --no-verbose", "", "--progress plain"},
	{"wget", "-nH --no-host-directories -np --no-parent --show-progress", "", ""},
	{"wget", "--progress", "BAR", "--progress bar"},
	{"wget", "--progress", "DOT", "--progress plain"},
	{"wget", "--cut-dirs", "N", ""}, // a tree begins with the last part of its path
	{"wget", "-e --execute", "SETTING", ""},
	{"wget", "-A", "GLOBS", "--accept GLOBS"},
	{"wget", "-R", "GLOBS", "--reject GLOBS"},
	{"wget", "-l --level", "LEVELS", "--depth LEVELS"},
	{"wget", "-l --level", "ALL", ""},
	{"wget", "-t --tries", "TRIES", "--retries TRIES"},
	{"wget", "-T --read-timeout", "TIME", "--timeout TIME"},
	{"wget", "-S --server-response", "", "-v"},
	{"wget", "--start-pos", "FROM", "--range FROM"},
	{"wget", "-V", "", "--version"},
	{"wget", "-x --force-directories", "", "--keep-dirs"},
	{"wget", "--no-passive-ftp", "", "--mode active"},
	{"wget", "--retr-symlinks", "", "--follow-links"},

	{"curl", "-s --silent", "", "-q"},
	{"curl", "-S --show-error -f --fail -L --location -g --globoff -J --remote-header-name", "", ""},
	{"curl", "--remote-name --remote-name-all -R --remote-time --create-dirs --ftp-skip-pasv-ip", "", ""},
	{"curl", "-l --list-only", "", ""}, // the names in a directory
	{"curl", "-k", "", "--insecure"},
	{"curl", "-r", "RANGE", "--range RANGE"},
	{"curl", "-m", "TIME", "--max-time TIME"},
	{"curl", "-x", "URL", "--proxy URL"},
	{"curl", "--socks5 --socks5-hostname", "ADDR", "--proxy socks5://ADDR"},
	{"curl", "--no-progress-meter", "", "--progress none"},
	{"curl", "-# --progress-bar", "", "--progress bar"},
	{"curl", "-B --use-ascii", "", "--type a"},
	{"wget", "-B", "URL", "--base URL"},
	{"curl", "--output-dir", "DIR", "-d DIR"},
	{"curl", "-V", "", "--version"},
	{"curl", "-Z --parallel", "", "-j 4"},
	{"curl", "-P --ftp-port", "ADDR", "--mode active"},
	{"curl", "--retry", "N", "--retries N"},
	{"curl", "--netrc-optional", "", "-n"},
	{"curl", "--netrc-file", "FILE", "--netrc=FILE"},
	{"curl", "--ssl --ftp-ssl", "", "--tls try"},
	{"curl", "--ssl-reqd --ftp-ssl-reqd", "", "--tls explicit"},
	{"curl", "--parallel-max", "N", "-j N"},
	{"curl", "--interface", "ADDR", "--ip ADDR"},
	{"curl", "--disable-epsv --no-epsv", "", "--mode pasv"},

	{"aria2", "-x --max-connection-per-server", "N", "-s N"},
	{"aria2", "-k --min-split-size", "SIZE", ""},
	{"aria2", "-Z", "", "-j 4"},
	{"aria2", "--max-tries", "TRIES", "--retries TRIES"},
	{"aria2", "--max-download-limit --max-overall-download-limit", "RATE", "--limit-rate RATE"},
	{"aria2", "--check-certificate", "FALSE", "--insecure"},
	{"aria2", "--file-allocation --summary-interval", "TEXT", ""},
	{"aria2", "--auto-file-renaming", "FALSE", ""},

	{"lftp", "get pget", "", ""},
	{"lftp", "mget", "", "--glob"},
	{"lftp", "mirror", "", "-r -N"},
	{"lftp", "ls", "", "-l"},
	{"lftp", "nlist cls", "", ""}, // the names in a directory
	{"lftp", "cat", "", "-o -"},
	{"lftp", "-n --use-pget-n", "N", "-s N"},
	{"lftp", "-n", "", ""}, // only what is newer: mirror has it
	{"lftp", "-O", "DIR", "-d DIR"},
	{"lftp", "-P --parallel", "N", "-j N"},
	{"lftp", "-X --exclude-glob", "GLOB", "--reject GLOB"},
	{"lftp", "-I --include-glob", "GLOB", "--accept GLOB"},

	{"rsync", "-a --archive", "", "-r -N"},
	{"rsync", "-z --compress -P --partial --progress -t --times -h", "", ""},
	{"rsync", "-l --links -p --perms -o -g -D -i --stats", "", ""}, // what a server tells of them is not kept
	{"rsync", "-n", "", "--dry-run"},
	{"rsync", "-u", "", "-N"},
	{"rsync", "--bwlimit", "KRATE", "--limit-rate KRATE"},
	{"rsync", "--delete-before --delete-during", "", "--delete"},
	{"rsync", "--exclude", "GLOB", "--reject GLOB"},

	{"rclone", "copy", "", "-r -N"},
	{"rclone", "copyto", "", "-N"},
	{"rclone", "-P --progress", "", ""},
	{"rclone", "-u", "", "-N"},
	{"rclone", "--max-age", "AGE", "--newer-than AGE"},
	{"rclone", "ls lsl", "", "-l"},
	{"rclone", "lsf", "", ""}, // the names in a directory
	{"rclone", "size", "", "-I -r"},
	{"rclone", "check", "", "-r --check"},
	{"rclone", "--transfers", "N", "-j N"},
	{"rclone", "--bwlimit", "KRATE", "--limit-rate KRATE"},
	{"rclone", "--exclude", "GLOB", "--reject GLOB"},
	{"rclone", "--include", "GLOB", "--accept GLOB"},

	{"ncftp", "-R", "", "-r"},

	{"any", "--output-document --out --output-file", "FILE", "-o FILE"},
	{"any", "--directory-prefix --directory", "DIR", "-d DIR"},
	{"any", "--input-file", "FILE", "-i FILE"},
	{"any", "--skip-existing --ignore-existing", "", "--no-clobber"},
	{"any", "--allow-overwrite --force", "", "--overwrite"},
	{"any", "--timestamping --update --only-newer", "", "-N"},
	{"any", "--spider --head", "", "-I"},
	{"any", "--list", "", "-l"},
	{"any", "--latest", "", "--newest 1"},
	{"any", "--md5", "HEX", "--checksum md5:HEX"},
	{"any", "--sha256", "HEX", "--checksum sha256:HEX"},
	{"any", "--max-depth", "N", "--depth N"},
	{"any", "--debug", "", "-v"},
	{"any", "--split --threads --connections", "N", "-s N"},
	{"any", "--max-concurrent-downloads", "N", "-j N"},
	{"any", "--rate-limit", "RATE", "--limit-rate RATE"},
	{"any", "--bind-address", "ADDR", "--ip ADDR"},
	{"any", "--passive --passive-ftp --ftp-pasv --ask-password", "", ""},
	{"any", "--ftp-user --username --login", "NAME", "-u NAME"},
	{"any", "--password --ftp-password --ftp-passwd", "TEXT", "--password-stdin"},
	{"any", "--netrc-path", "FILE", "--netrc=FILE"},
	{"any", "--no-netrc", "", "--netrc=none"},
	{"any", "--no-proxy", "", "--proxy none"},
	{"any", "--all-proxy --ftp-proxy", "URL", "--proxy URL"},
	{"any", "--no-check-certificate", "", "--insecure"},
	{"any", "--ca-certificate", "FILE", "--cacert FILE"},
	{"any", "--certificate", "FILE", "--cert FILE"},
	{"any", "--private-key", "FILE", "--key FILE"},
}

// notMisspelt are flags of other programs that are spelled nearly as ours are, and mean something else.
var notMisspelt = []string{"--backups", "--form", "--log", "--pass"}

// values says what a placeholder stands for: a pattern, and how such a value is written here.
var values = map[string]struct {
	pattern string
	here    func(string) string
}{
	"-":       {`^-$`, nil},
	"N":       {`^[0-9]+$`, nil},
	"ADDR":    {`[:.]|^-$`, nil},
	"AGE":     {`^[0-9.]+[smhd]$`, nil},
	"BAR":     {`^bar:`, nil},
	"DOT":     {`^dot`, nil},
	"ALL":     {`^(0|inf)$`, nil},
	"DIR":     {`^([^0-9-]|-.)`, nil},
	"FALSE":   {`^false$`, nil},
	"FILE":    {`^[^0-9]`, nil},
	"FROM":    {`^[0-9]+$`, func(at string) string { return at + "-" }},
	"GLOB":    {`^(/.*|[^/]*/?)$`, nil}, // elsewhere, a slash has another meaning here
	"GLOBS":   {`^[^/]*$`, oneGlob},
	"HEX":     {`^[0-9a-fA-F]+$`, nil},
	"KRATE":   {`^[0-9]`, inK},
	"LEVELS":  {`^[1-9][0-9]*$`, nil},
	"NAME":    {``, nil},
	"RANGE":   {`^[0-9]+-[0-9]*$`, nil},
	"RATE":    {`^[0-9]`, nil},
	"SETTING": {`=`, nil}, // as in wgetrc
	"SIZE":    {`^[0-9]`, nil},
	"TEXT":    {``, nil},
	"TIME":    {`^[0-9.]*[1-9]`, nil},
	"TRIES":   {`^[1-9][0-9]{0,6}$`, lessOne},
	"URL":     {`[:.]`, nil},
}

// fits reports whether a value may be what the placeholder stands for.
func fits(placeholder, value string) bool {
	return regexp.MustCompile(values[placeholder].pattern).MatchString(value)
}

// oneGlob returns the pattern that stands for wget's list of patterns, which may be one of suffixes.
func oneGlob(list string) string {
	if !strings.ContainsAny(list, "*?[") {
		list = "*" + strings.ReplaceAll(list, ",", ",*")
	}
	if strings.Contains(list, ",") {
		return "{" + list + "}"
	}
	return list
}

// inK returns a rate whose number without a unit counts K.
func inK(rate string) string {
	if number().MatchString(rate) {
		return rate + "K"
	}
	return rate
}

// lessOne converts tries to retries.
func lessOne(tries string) string {
	n, _ := strconv.Atoi(tries)
	return strconv.Itoa(n - 1)
}

var number = lazy.Regexp(`^([0-9][0-9-]*|inf)$`) // or a range
