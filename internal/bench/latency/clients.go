//go:build linux

package main

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
)

// client is a program under one set of options: a row of the tables.
type client struct {
	name    string
	program string // as -clients names it
	needs   string // the row is left out where the output of "program --help" lacks this
	// lines has a template (see job.words) for every form that the client can do.
	lines map[form][]string
	// why the other forms have a row without numbers, where that is worth telling.
	cannot map[form]string
}

// lftpLines gives lftp's commands after the given settings.
func lftpLines(set string) map[form][]string {
	return map[form][]string{
		formFile: {"lftp", "-c", set + "get {url}"},
		formTLS:  {"lftp", "-c", set + "set ftp:ssl-force yes; set ftp:ssl-allow-anonymous yes; set ssl:ca-file {ca}; get {url}"},
		formList: {"lftp", "-c", set + "open {url}; nlist"},
		formMany: {"lftp", "-c", set + "open ftp://{host}/{dir}; get {names}"},
	}
}

// ftpfetchLines gives ftpfetch's commands with the given options.
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

// ours is the program that the others are compared with.
const ours = "ftpfetch"

const noTLS = "no FTP over TLS"

// clients are measured in this order. Each runs as its manual says for the job,
// with options that only make it quiet, and next to it, on a row of its own, with
// the option of its manual that saves round trips, where it has one.
var clients = []*client{
	{name: "ftpfetch", program: ours, lines: ftpfetchLines()},
	{name: "ftpfetch --no-pipelining", program: ours, needs: "--no-pipelining", lines: ftpfetchLines("--no-pipelining")},
	{name: "ftpfetch -j 6", program: ours, needs: "--jobs",
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

// installed tells whether the program is there, and whether it has the option
// that the row is about.
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

// version gives the first line of what the program says to --version, which
// ncftpget does not know but answers with its version all the same.
func (c *client) version(ctx context.Context) string {
	out, _ := exec.CommandContext(ctx, c.program, "--version").CombinedOutput()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return strings.TrimSpace(line)
}
