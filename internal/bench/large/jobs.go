//go:build linux

package large

import (
	"fmt"
	"strings"
	"time"
)

// form is the shape of a command line that a job asks for.
type form string

const (
	formPlain   form = "plain"
	formTLS     form = "TLS"
	formVersion form = "version"
	formResume  form = "resume"
)

// job is one case.
type job struct {
	number int
	title  string
	form   form
	file   string // to fetch; "" for none
	part   int64  // bytes of it that are there
	runs   int
	limit  time.Duration // after which a client counts as hanging
}

// The files that the servers serve.
const (
	largeFile = "large"
	tinyFile  = "tiny"
	hugeFile  = "huge"
)

func (s *settings) jobs() []*job {
	gib := float64(s.huge) / (1 << 10)
	return []*job{
		{1, fmt.Sprintf("A file of %d MiB, unencrypted", s.size), formPlain, largeFile, 0, s.runs, time.Minute},
		{2, "The same over TLS 1.3", formTLS, largeFile, 0, s.runs, time.Minute},
		{3, "The start: `--version`", formVersion, "", 0, 5 * s.runs, time.Minute},
		{4, "A file of 1 byte", formPlain, tinyFile, 0, 5 * s.runs, time.Minute},
		{5, fmt.Sprintf("A file of %.3g GiB", gib), formPlain, hugeFile, 0, 1, 5 * time.Minute},
		{6, "The second half of it: the first is there", formResume, hugeFile, s.huge << 19, 1, 5 * time.Minute},
	}
}

// client is a program under one set of options: a row of the tables.
type client struct {
	name    string
	program string // as -clients names it
	lines   map[form]string
}

// reference is the program that the others are compared with.
const reference = "curl"

// ours must not fail.
const ours = "ftpfetch"

const lftpTLS = "set ftp:ssl-force yes; set ftp:ssl-allow-anonymous yes; set ssl:ca-file {ca}; "

// clients are measured in this order. In a line, a comma and a space end a word;
// {file} is the file to fetch.
var clients = []*client{
	{ours, ours, map[form]string{
		formPlain:   "ftpfetch, -q, ftp://{host}/{file}",
		formTLS:     "ftpfetch, -q, --cacert, {ca}, ftpes://{host}:{tls}/{file}",
		formVersion: "ftpfetch, --version",
		formResume:  "ftpfetch, -q, -c, ftp://{host}/{file}",
	}},
	{"ftpfetch -s 4", ours, map[form]string{
		formPlain: "ftpfetch, -q, -s, 4, ftp://{host}/{file}",
		formTLS:   "ftpfetch, -q, -s, 4, --cacert, {ca}, ftpes://{host}:{tls}/{file}",
	}},
	{reference, reference, map[form]string{
		formPlain:   "curl, -sS, -O, ftp://{host}/{file}",
		formTLS:     "curl, -sS, --ssl-reqd, --cacert, {ca}, -O, ftp://{host}:{tls}/{file}",
		formVersion: "curl, --version",
		formResume:  "curl, -sS, -C, -, -O, ftp://{host}/{file}",
	}},
	{"wget", "wget", map[form]string{
		formPlain:   "wget, -q, ftp://{host}/{file}",
		formTLS:     "wget, -q, --ca-certificate={ca}, ftps://{host}:{tls}/{file}",
		formVersion: "wget, --version",
		formResume:  "wget, -q, -c, ftp://{host}/{file}",
	}},
	{"lftp", "lftp", map[form]string{
		formPlain:   "lftp, -c, get ftp://{host}/{file}",
		formTLS:     "lftp, -c, " + lftpTLS + "get ftp://{host}:{tls}/{file}",
		formVersion: "lftp, --version",
		formResume:  "lftp, -c, get -c ftp://{host}/{file}",
	}},
	{"aria2", "aria2c", map[form]string{
		formPlain:   "aria2c, -q, ftp://{host}/{file}",
		formVersion: "aria2c, --version",
		formResume:  "aria2c, -q, -c, ftp://{host}/{file}",
	}},
	{"ncftpget", "ncftpget", map[form]string{
		formPlain:  "ncftpget, -V, ftp://{host}/{file}",
		formResume: "ncftpget, -V, -z, ftp://{host}/{file}",
	}},
}

// words returns the command line of a client's line.
func (j *job) words(line string) []string {
	var words []string
	for word := range strings.SplitSeq(line, ", ") {
		words = append(words, fill.Replace(strings.ReplaceAll(word, "{file}", j.file)))
	}
	return words
}
