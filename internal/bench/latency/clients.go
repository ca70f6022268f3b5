//go:build linux

package latency

import (
	"bytes"
	"context"
	"os/exec"
)

// client is a program under one set of options: a row of the tables.
type client struct {
	name    string
	program string // as -clients names it
	needs   string // an option; without it in "program --help" there is no row
	// lines has a template (see job.words) for every form that the client can do.
	lines map[form][]string
	// cannot says why a form that is not in lines has a row without numbers. If
	// it is not in cannot either, it has no row.
	cannot map[form]string
}

// lftpLines returns lftp's commands after the given settings.
func lftpLines(set string) map[form][]string {
	return map[form][]string{
		formFile: {"lftp", "-c", set + "get {url}"},
		formTLS:  {"lftp", "-c", set + "set ftp:ssl-force yes; set ftp:ssl-allow-anonymous yes; set ssl:ca-file {ca}; get {url}"},
		formList: {"lftp", "-c", set + "open {url}; nlist"},
		formMany: {"lftp", "-c", set + "open ftp://{host}/{dir}; get {names}"},
	}
}

// ftpfetchLines returns ftpfetch's commands with the given options.
func ftpfetchLines(options ...string) map[form][]string {
	with := func(words ...string) []string {
		return append(append([]string{"ftpfetch", "-q"}, options...), words...)
	}
	return map[form][]string{
		formFile: with("{url}"),
		formTLS:  with("--cacert", "{ca}", "{ftpes}"),
		formList: with("{url};type=d"),
		formMany: with("{urls}"),
	}
}

// reference is the program that the others are compared with.
const reference = "ftpfetch"

const noTLS = "no FTP over TLS"

// clients are measured in this order. Each runs as its manual says for the job,
// with options that only make it quiet. If its manual has an option that saves
// round trips, the next row is the client with that option.
var clients = []*client{
	{name: "ftpfetch", program: reference, lines: ftpfetchLines()},
	{name: "ftpfetch --no-pipelining", program: reference, needs: "--no-pipelining", lines: ftpfetchLines("--no-pipelining")},
	{name: "ftpfetch -j 6", program: reference, needs: "--jobs",
		lines: map[form][]string{formMany: ftpfetchLines("-j", "6")[formMany]}},
	{name: "curl", program: "curl", lines: map[form][]string{
		formFile: {"curl", "-sS", "-O", "{url}"},
		formTLS:  {"curl", "-sS", "--ssl-reqd", "--cacert", "{ca}", "-O", "{url}"},
		formList: {"curl", "-sS", "--list-only", "{url}"},
		formMany: {"curl", "-sS", "--remote-name-all", "{urls}"},
	}},
	{name: "curl -Z", program: "curl",
		lines: map[form][]string{formMany: {"curl", "-sS", "-Z", "--remote-name-all", "{urls}"}}},
	{name: "wget", program: "wget", lines: map[form][]string{
		formFile: {"wget", "-q", "{url}"},
		formTLS:  {"wget", "-q", "--ca-certificate={ca}", "{ftps}"},
		formList: {"wget", "-q", "{url}"},
		formMany: {"wget", "-q", "{urls}"},
	}},
	{name: "lftp", program: "lftp", lines: lftpLines("")},
	{name: "lftp, sync-mode off", program: "lftp", lines: lftpLines("set ftp:sync-mode off; ")},
	{name: "aria2", program: "aria2c", lines: map[form][]string{
		formFile: {"aria2c", "-q", "{url}"},
		formMany: {"aria2c", "-q", "-Z", "{urls}"},
	}, cannot: map[form]string{formTLS: noTLS, formList: "no listings"}},
	{name: "ncftpget", program: "ncftpget", lines: map[form][]string{
		formFile: {"ncftpget", "{url}"},
		formList: {"ncftpls", "-1", "{url}"},
		formMany: {"ncftpget", "{host}", ".", "{paths}"},
	}, cannot: map[form]string{formTLS: noTLS}},
}

// installed reports whether the program is there, and whether it has the option
// that the row needs.
func (c *client) installed(ctx context.Context) (program, option bool) {
	if _, err := exec.LookPath(c.program); err != nil {
		return false, false
	}
	if c.needs == "" {
		return true, true
	}
	help, _ := exec.CommandContext(ctx, c.program, "--help").CombinedOutput()
	return true, bytes.Contains(help, []byte(c.needs))
}
