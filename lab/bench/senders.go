package main

import (
	"bufio"
	"embed"
	"os"
	"path/filepath"
	"strings"
)

// sender is a program that gets an FTP URL, or a library as its documents use it: a row of docs/clients.md.
type sender struct {
	name string
	from string // the package of Debian that it is from, or its name and version
	line string // a space ends a word; URL and DIR, the directory of the scripts, are filled in, and a TAB is a space
}

// senders run in the root that install.sh has made. A library that takes no URL gets the URL's decoded path.
var senders = []sender{
	{ours, "", "ftpfetch -q --retries 0 -o - URL"},
	{"curl", "curl", "curl -s -o out URL"},
	{"wget", "wget", "wget -q -t 1 -O out URL"},
	{"busybox wget", "busybox", "busybox wget -q -O out URL"},
	{"lftp", "lftp", "lftp -c set\tnet:max-retries\t1;get\t'URL'"},
	{"aria2", "aria2", "aria2c -q -m 1 -o out URL"},
	{"ncftpget", "ncftp", "ncftpget -V -r 1 URL"},
	{"tnftp", "tnftp", "tnftp -V -g -o out URL"},
	{"axel", "axel", "axel -q -n 1 -o out URL"},
	{"snarf", "snarf", "snarf -q URL out"},
	{"puf", "puf", "puf URL"},
	{"wget2", "wget2", "wget2 -q -O out URL"},
	{"lynx", "lynx", "lynx -source URL"},
	{"links", "links", "links -source URL"},
	{"elinks", "elinks", "elinks -source 1 URL"},
	{"w3m", "w3m", "w3m -dump_source URL"},
	{"httrack", "httrack", "httrack -q -r1 -O site URL"},
	{"apt", "apt", "/usr/lib/apt/apt-helper -o APT::Sandbox::User=root -o Dir::Bin::Methods::ftp=ftp download-file URL out"},
	{"gio", "gvfs", "dbus-run-session -- sh DIR/gio.sh URL"},
	{"mcview", "mc", "script -qec timeout\t5\tmcview\t'URL' /dev/null"},
	{"ffmpeg", "ffmpeg", "ffmpeg -v error -xerror -f data -i URL -map 0 -f data out"},
	{"xmllint", "libxml2-utils", "xmllint URL"},
	{"git-annex", "git-annex", "sh DIR/git_annex.sh URL"},
	{"rclone copyurl", "rclone", "rclone -q --retries 1 copyurl URL out"},
	{"Python, urllib", "python3.11", "python3 DIR/python_urllib.py URL"},
	{"Python, fsspec", "python3-fsspec", "python3 DIR/python_fsspec.py URL"},
	{"Python, ftputil", "python3-ftputil", "python3 DIR/python_ftputil.py URL"},
	{"Perl, LWP", "libwww-perl", "perl -MLWP::Simple -e exit(getstore(shift,'out')!=200) URL"},
	{"Perl, Net::FTP", "perl-modules-5.36", "perl DIR/net_ftp.pl URL"},
	{"PHP", "php8.2-cli", "php8.2 -r exit(readfile($argv[1])===false?1:0); URL"},
	{"Java", "openjdk-17-jdk-headless", "/usr/lib/jvm/java-17-openjdk-amd64/bin/java DIR/Fetch.java URL"},
	{"Tcl, tcllib", "tcllib", "tclsh8.6 DIR/fetch.tcl URL"},
	{"Erlang, ftp", "erlang-ftp", "escript DIR/fetch.escript URL"},
	{"Ruby, open-uri", "libruby3.1", "ruby -ropen-uri -e IO.copy_stream(URI.open(ARGV[0]),'out') URL"},
	{"R", "r-base-core", "R -s -e utils::download.file(commandArgs(TRUE)[1],'out',quiet=TRUE) --args URL"},
	{"npm, get-uri", "get-uri 6.0.5", "node DIR/get_uri.mjs URL"},
	{"npm, basic-ftp", "basic-ftp 5.0.5", "node DIR/basic_ftp.mjs URL"},
	{"Go, jlaffaye/ftp", "github.com/jlaffaye/ftp v0.2.4", "SELF -retrieve URL"},
}

//go:embed senders
var senderFiles embed.FS

// senderVersions reads what install.sh has unpacked: package -> version.
func senderVersions() (map[string]string, error) {
	file, err := os.Open(filepath.Join(senderDir(), "versions"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	versions := make(map[string]string)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		name, version, _ := strings.Cut(lines.Text(), "\t")
		versions[strings.TrimSuffix(name, ":amd64")] = version
	}
	return versions, lines.Err()
}

// senderDir is the directory of install.sh.
func senderDir() string {
	if dir := os.Getenv("FTPFETCH_CLIENTS_DIR"); dir != "" {
		return dir
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "ftpfetch-clients")
}
