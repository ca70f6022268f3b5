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
	{"wget", "--cut-dirs", "N", ""}, // see addLayout
	{"wget", "-e --execute", "ROBOTS", ""},
	{"wget", "-e --execute", "PROXY", "--proxy PROXY"},
	{"wget", "-A", "GLOBS", "--accept GLOBS"},
	{"wget", "-R", "GLOBS", "--reject GLOBS"},
	{"wget", "-l --level", "LEVELS", "--depth LEVELS"},
	{"wget", "-l --level", "ALL", ""},
	{"wget", "-t --tries", "TRIES", "--retries TRIES"},
	{"wget", "-T --read-timeout", "TIME", "--timeout TIME"},
	{"wget", "-S --server-response", "", "-v"},
	{"wget", "--start-pos", "FROM", "--range FROM"},
	{"wget", "-V", "", "--version"}, // without a URL: see addUnsaid
	{"wget", "-t --tries", "ALL", "--retries 1000"},
	{"wget", "--dns-timeout", "TIME", "--connect-timeout TIME"},
	{"wget", "-w --wait --waitretry", "TIME", ""},
	{"wget", "--random-wait", "", ""},
	{"wget", "-U --user-agent --header --referer", "TEXT", ""},
	{"wget", "-k --convert-links -p --page-requisites -E --adjust-extension", "", ""}, // of HTML: see addUnsaid
	{"wget", "--retry-connrefused --no-remove-listing", "", ""},
	{"wget", "--content-disposition --trust-server-names --no-cookies --no-cache --no-hsts", "", ""},
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
	{"curl", "-V", "", "--version"}, // without a URL
	{"curl", "--retry-delay --retry-max-time", "TIME", ""},
	{"curl", "-A --user-agent -H --header --referer", "TEXT", ""},
	{"curl", "--compressed --http1.1 --http2 --tlsv1.2", "", ""},
	{"curl", "-Z --parallel", "", "-j 4"},
	{"curl", "-P --ftp-port", "ADDR", "--mode active"},
	{"curl", "--retry", "N", "--retries N"},
	{"curl", "--retry-all-errors", "", ""},
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
	{"aria2", "-m --max-tries", "TRIES", "--retries TRIES"},
	{"aria2", "-t", "TIME", "--timeout TIME"},
	{"aria2", "--stop", "TIME", "--max-time TIME"},
	{"aria2", "--conditional-get", "", "-N"},
	{"aria2", "--max-download-limit --max-overall-download-limit", "RATE", "--limit-rate RATE"},
	{"aria2", "--check-certificate", "FALSE", "--insecure"},
	{"aria2", "--file-allocation --summary-interval --console-log-level", "TEXT", ""},
	{"aria2", "--show-console-readout --download-result", "TEXT", ""},
	{"aria2", "-V --check-integrity", "", ""}, // a digest that is given is compared
	{"aria2", "--retry-wait", "TIME", ""},
	{"aria2", "--remote-time", "", ""},
	{"aria2", "--remote-time", "FALSE", ""},
	{"aria2", "--ftp-pasv", "FALSE", "--mode active"},
	{"aria2", "--ftp-type", "ASCII", "--type a"},
	{"aria2", "--ftp-type", "BINARY", ""},
	{"aria2", "--lowest-speed-limit", "RATE", "--speed-limit RATE"},
	{"aria2", "--on-download-complete", "HOOK", "--exec HOOK"},
	{"aria2", "--auto-file-renaming", "FALSE", ""},

	{"lftp", "get pget", "", ""},
	{"lftp", "mget", "", "--glob"},
	{"lftp", "mirror", "", "-r -N"},
	{"lftp", "ls", "", "-l"},
	{"lftp", "nlist cls", "", ""}, // the names in a directory
	{"lftp", "-1", "", ""},
	{"lftp", "find du", "", "-I -r"},
	{"lftp", "cat", "", "-o -"},
	{"lftp", "-n --use-pget-n", "N", "-s N"},
	{"lftp", "-v --verbose", "", "--progress plain"},
	{"lftp", "-s", "", ""}, // of du
	{"lftp", "-n", "", ""}, // only what is newer: mirror has it
	{"lftp", "-O", "DIR", "-d DIR"},
	{"lftp", "-P --parallel", "N", "-j N"},
	{"lftp", "-X --exclude-glob", "GLOB", "--reject GLOB"},
	{"lftp", "-I --include-glob", "GLOB", "--accept GLOB"},

	{"rsync", "-a --archive", "", "-r -N"},
	{"rsync", "-z --compress -P --progress --partial -t --times -h", "", ""}, // see addPartial
	{"rsync", "--include", "DIRS", ""},                                       // see addFilters
	{"rsync", "--include", "GLOB", "--accept GLOB"},
	{"rsync", "--exclude", "STARS", ""},
	{"rsync", "--files-from", "FILE", "--manifest FILE --map url=1"},
	{"rsync", "-l --links -p --perms -o -g -D -i --stats", "", ""}, // what a server tells of them is not kept
	{"rsync", "-n", "", "--dry-run"},
	{"rsync", "-u", "", "-N"},
	{"rsync", "-v --verbose", "", "--progress plain"},
	{"rsync", "--append --append-verify", "", "-c"},
	{"rsync", "--bwlimit", "KRATE", "--limit-rate KRATE"},
	{"rsync", "--delete-before --delete-during", "", "--delete"},
	{"rsync", "--exclude", "GLOB", "--reject GLOB"},

	{"rclone", "copy", "", "-r -N"},
	{"rclone", "copyto", "", "-N"},
	{"rclone", "-P --progress", "", ""},
	{"rclone", "-u", "", "-N"},
	{"rclone", "-n", "", "--dry-run"},
	{"rclone", "-v --verbose", "", "--progress plain"},
	{"rclone", "--checkers", "N", ""},
	{"rclone", "--max-age", "AGE", "--newer-than AGE"},
	{"rclone", "lsl tree", "", "-I -r"},
	{"rclone", "lsd", "", "-l"},
	{"rclone", "lsjson", "", "--json"},
	{"rclone", "copyurl", "", ""},
	{"rclone", "lsf", "", ""}, // the names in a directory
	{"rclone", "--files-from", "FILE", "--manifest FILE --map url=1"},
	{"rclone", "--exclude", "STARS", ""}, // see addFilters
	{"rclone", "size", "", "-I -r"},
	{"rclone", "cat", "", "-o -"},
	{"rclone", "--head", "FIRST", "--range FIRST"},
	{"rclone", "check", "", "-r --check"},
	{"rclone", "--transfers", "N", "-j N"},
	{"rclone", "--bwlimit", "KRATE", "--limit-rate KRATE"},
	{"rclone", "--exclude", "GLOB", "--reject GLOB"},
	{"rclone", "--include", "GLOB", "--accept GLOB"},

	{"ncftp", "-R", "", "-r"},

	{"any", "--output-document --out --output-file", "FILE", "-o FILE"},
	{"any", "--directory-prefix --directory --dest --destination --output-directory --out-dir", "DIR", "-d DIR"},
	{"any", "--input-file --from-file", "FILE", "-i FILE"},
	{"any", "--skip-existing --ignore-existing", "", "--no-clobber"},
	{"any", "--allow-overwrite --force", "", "--overwrite"},
	{"any", "--timestamping --update --only-newer --if-newer", "", "-N"},
	{"any", "--spider --head --exists --size --mtime", "", "-I"},
	{"any", "--list --ls list", "", "-l"},
	{"any", "stat info", "", "-I"},
	{"any", "--no-progress", "", "--progress none"},
	{"any", "--latest", "", "--newest 1"},
	{"any", "--last", "N", "--newest N"},
	{"any", "--since --after --modified-since", "TEXT", "--newer-than TEXT"},
	{"any", "--until --before --older-than", "TEXT", "--min-age TEXT"},
	{"any", "--stdout --to-stdout", "", "-o -"},
	{"any", "--resume", "", "-c"},
	{"any", "--no-overwrite", "", "--no-clobber"},
	{"any", "--only-new", "", "-N"},
	{"any", "--compare", "", "--check"},
	{"any", "--ascii", "", "--type a"},
	{"any", "--active", "", "--mode active"},
	{"any", "--speed --max-speed --max-rate", "RATE", "--limit-rate RATE"},
	{"any", "--parallel", "N", "-j N"},
	{"any", "--partial --no-glob", "", ""},
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
var notMisspelt = []string{"--backups", "--form", "--log", "--pass", "--limit", "--check-sums", "--checksums"}

// values says what a placeholder stands for: a pattern, and how such a value is written here.
var values = map[string]struct {
	pattern string
	here    func(string) string
}{
	"-":      {`^-$`, nil},
	"N":      {`^[0-9]+$`, nil},
	"ASCII":  {`^(?i:a|ascii)$`, nil},
	"BINARY": {`^(?i:i|binary)$`, nil},
	"DIRS":   {`^\*/$`, nil},
	"HOOK":   {`^[^ "$]+$`, func(program string) string { return program + ` - 1 "$1"` }}, // its arguments of aria2
	"PROXY":  {`^ftp_proxy=`, func(setting string) string { return strings.TrimPrefix(setting, "ftp_proxy=") }},
	"ROBOTS": {`^(robots|timestamping)=off$`, nil},
	"STARS":  {`^\*+$`, nil},
	"ADDR":   {`[:.]|^-$`, nil},
	"AGE":    {`^[0-9.]+[smhd]$`, nil},
	"BAR":    {`^bar:`, nil},
	"DOT":    {`^dot`, nil},
	"ALL":    {`^(0|inf)$`, nil},
	"DIR":    {`^([^0-9-]|-.)`, nil},
	"FALSE":  {`^false$`, nil},
	"FILE":   {`^[^0-9]`, nil},
	"FIRST":  {`^[1-9][0-9]{0,9}$`, func(n string) string { return "0-" + lessOne(n) }},
	"FROM":   {`^[0-9]+$`, func(at string) string { return at + "-" }},
	"GLOB":   {`^(/.*|[^/]*/?)$`, nil}, // elsewhere, a slash has another meaning here
	"GLOBS":  {`^[^/]*$`, oneGlob},
	"HEX":    {`^[0-9a-fA-F]+$`, nil},
	"KRATE":  {`^[0-9]`, inK},
	"LEVELS": {`^[1-9][0-9]*$`, nil},
	"NAME":   {``, nil},
	"RANGE":  {`^[0-9]+-[0-9]*$`, nil},
	"RATE":   {`^[0-9]`, nil},
	"SIZE":   {`^[0-9]`, nil},
	"TEXT":   {``, nil},
	"TIME":   {`^[0-9.]*[1-9]`, nil},
	"TRIES":  {`^[1-9][0-9]{0,6}$`, lessOne},
	"URL":    {`[:.]`, nil},
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

var (
	number = lazy.Regexp(`^([0-9][0-9-]*|inf)$`)                // or a range
	amount = lazy.Regexp(`^([0-9][0-9-]*|inf|[0-9]+[kKmMgG])$`) // or a size
)
