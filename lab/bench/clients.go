package main

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// client is a program with options that only silence it, cap its connections or save round trips: a row of the tables.
type client struct {
	name, program string
	tables        string // the tables that have it; "" for all
	caps          func(n int) bool
	// The command lines for a file, for the same over TLS, and for a list; a comma and a space end a word. See words.
	file, tls, list string
}

func one(n int) bool  { return n == 1 } // a client that has only one connection
func more(n int) bool { return n > 1 }
func always(int) bool { return true }

const (
	ours      = "ftpfetch" // must not fail
	lftpTLS   = "set ftp:ssl-force yes; set ftp:ssl-allow-anonymous yes; set ssl:ca-file {ca}; "
	lftpAhead = "set ftp:sync-mode off; "
)

// rclonePass is "anonymous" in the form that rclone obscure prints: rclone takes no other. rclone does not get a cap of
// connections (concurrency): it deadlocks with fewer than transfers and checkers need together.
const rclonePass = "XHpueJGe18zB4R6ITOGIvSYCqBGXtTmI9w"

var clients = []client{
	{ours, ours, "", always, "ftpfetch, -q, {url}", "ftpfetch, -q, --cacert, {ca}, {ftpes}", "ftpfetch, -q, -j, {n}, --per-host, {n}, -i, {home}/urls"},
	{"ftpfetch -s 4", ours, "large", always, "ftpfetch, -q, -s, 4, {url}", "ftpfetch, -q, -s, 4, --cacert, {ca}, {ftpes}", ""},
	{"ftpfetch -r", ours, "small", more, "", "", "ftpfetch, -q, -j, {n}, --per-host, {n}, -r, {base}"},
	{"curl", "curl", "", one, "curl, -sS, -O, {url}", "curl, -sS, --ssl-reqd, --cacert, {ca}, -O, {url}", "curl, -sS, -K, {home}/curl"},
	{"curl -Z", "curl", "", more, "", "", "curl, -sS, -Z, --parallel-max, {n}, -K, {home}/curl"},
	{"curl -Z --retry 5", "curl", "", more, "", "", "curl, -sS, -Z, --retry, 5, --parallel-max, {n}, -K, {home}/curl"},
	{"wget", "wget", "", one, "wget, -q, {url}", "wget, -q, --ca-certificate={ca}, {ftps}", "wget, -q, -nd, -i, {home}/urls"},
	{"lftp", "lftp", "", one, "lftp, -c, get {url}", "lftp, -c, " + lftpTLS + "get {url}", ""},
	{"lftp, sync-mode off", "lftp", "latency", one, "lftp, -c, " + lftpAhead + "get {url}", "lftp, -c, " + lftpAhead + lftpTLS + "get {url}", ""},
	{"lftp mirror", "lftp", "", always, "", "", "lftp, -c, mirror -P {n} {base} ."},
	{"lftp queue", "lftp", "", always, "", "", "lftp, -f, {home}/lftp"},
	// By default aria2 reuses connections, and hangs on vsftpd.
	{"aria2", "aria2c", "", always, "aria2c, -q, {url}", "", "aria2c, -q, --ftp-reuse-connection=false, -j, {n}, -x, 1, -i, {home}/urls"},
	{"rclone", "rclone", "", always, "", "", "rclone, copy, -q, --config, /dev/null, --transfers, {n}, --checkers, {n}, --no-traverse, " +
		"--files-from, {home}/paths, :ftp,host={host},port={port},user=anonymous,pass=" + rclonePass + ":list, ."},
	{"ncftpget", "ncftpget", "", one, "ncftpget, -V, {url}", "", "ncftpget, -V, -P, {port}, {host}, ., {paths}"},
}

// line returns the client's command line for a job; "" for none.
func (c *client) line(j *job) string {
	switch {
	case j.caps != nil:
		return c.list
	case j.server.tls:
		return c.tls
	}
	return c.file
}

// words fills in a command line. {url} is the URL of the job's first file, {ftps} and {ftpes} are the same with the
// schemes that clients use for explicit TLS, {base} is the URL of the directory of the list, {n} the cap of
// connections, {ca} the authority's certificate, and {home} the directory of the lists. {paths} becomes one word for
// each file.
func (w *row) words(l *link, home string) (words []string) {
	j := w.job
	url := func(scheme string) string { return j.at(scheme, l) + j.files[0] }
	r := strings.NewReplacer("{url}", url("ftp"), "{ftps}", url("ftps"), "{ftpes}", url("ftpes"), "{base}", j.at("ftp", l)+cmp.Or(j.top, path.Dir(j.files[0]))+"/",
		"{n}", strconv.Itoa(w.cap), "{ca}", j.server.ca[l], "{home}", home, "{host}", l.host(), "{port}", strconv.Itoa(j.server.port))
	for word := range strings.SplitSeq(w.client.line(j), ", ") {
		if word == "{paths}" {
			words = append(words, j.files...)
			continue
		}
		words = append(words, r.Replace(word))
	}
	return words
}

// writeLists writes the list of the job in the format of each client.
func (w *row) writeLists(l *link, home string) error {
	base := w.job.at("ftp", l)
	var urls, paths, curl, lftp strings.Builder
	fmt.Fprintf(&lftp, "set cmd:queue-parallel %d\nopen %s\n", w.cap, base)
	for _, name := range w.job.files {
		fmt.Fprintln(&urls, base+name)
		fmt.Fprintln(&paths, path.Base(name))
		fmt.Fprintf(&curl, "url = %q\noutput = %q\n", base+name, path.Base(name))
		fmt.Fprintln(&lftp, "queue get "+name)
	}
	fmt.Fprintln(&lftp, "wait all")
	for name, b := range map[string]*strings.Builder{"urls": &urls, "paths": &paths, "curl": &curl, "lftp": &lftp} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
