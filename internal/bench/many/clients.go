//go:build linux

package many

import "os/exec"

// client is a program under one set of options: a row of the tables.
type client struct {
	name    string
	program string // as -clients names it
	lines   map[form]line
}

// line is how a client does a job.
type line struct {
	words []string // a template; see job.words
	// at says for which caps of connections it is run.
	at func(j *job, connections int) bool
}

func always(*job, int) bool      { return true }
func one(_ *job, n int) bool     { return n == 1 } // a client that has only one connection
func more(_ *job, n int) bool    { return n > 1 }
func limited(j *job, _ int) bool { return j.allowed > 0 }

// reference is the program that the others are compared with.
const reference = "ftpfetch"

// rclonePass is "anonymous" as rclone obscure writes it: it takes no other form.
const rclonePass = "XHpueJGe18zB4R6ITOGIvSYCqBGXtTmI9w"

// rclone returns its command. It is not told its cap of connections (concurrency):
// it deadlocks with fewer than transfers and checkers need together.
func rclone(more ...string) []string {
	words := append([]string{"rclone", "copy", "-q", "--config", "/dev/null", "--transfers", "{n}", "--checkers", "{n}"}, more...)
	return append(words, ":ftp,host={host},port={port},user=anonymous,pass="+rclonePass+":{dir}", "{dir}")
}

// clients are measured in this order. Each runs as its manual says for the job,
// with options that only make it quiet and cap its connections.
var clients = []*client{
	{"ftpfetch", reference, map[form]line{
		formList:  {[]string{"ftpfetch", "-q", "-j", "{n}", "--per-host", "{n}", "-i", "{home}/urls"}, always},
		formTree:  {[]string{"ftpfetch", "-q", "-j", "{n}", "--per-host", "{n}", "-r", "{base}"}, always},
		formLarge: {[]string{"ftpfetch", "-q", "-s", "{n}", "{url}"}, always},
	}},
	{"curl", "curl", map[form]line{
		formList:  {[]string{"curl", "-sS", "-K", "{home}/curl"}, one},
		formLarge: {[]string{"curl", "-sS", "-O", "{url}"}, one},
	}},
	{"curl -Z", "curl", map[form]line{
		formList: {[]string{"curl", "-sS", "-Z", "--parallel-max", "{n}", "-K", "{home}/curl"}, more},
	}},
	{"curl -Z --retry 5", "curl", map[form]line{
		formList: {[]string{"curl", "-sS", "-Z", "--retry", "5", "--parallel-max", "{n}", "-K", "{home}/curl"}, limited},
	}},
	{"wget", "wget", map[form]line{
		formList:  {[]string{"wget", "-q", "-nd", "-i", "{home}/urls"}, one},
		formTree:  {[]string{"wget", "-q", "-r", "-l", "inf", "-np", "{base}"}, one},
		formLarge: {[]string{"wget", "-q", "{url}"}, one},
	}},
	// With its default, to use a connection again, it hangs on vsftpd.
	{"aria2", "aria2c", map[form]line{
		formList:  {[]string{"aria2c", "-q", "--ftp-reuse-connection=false", "-j", "{n}", "-x", "1", "-i", "{home}/urls"}, always},
		formLarge: {[]string{"aria2c", "-q", "-s", "{n}", "-x", "{n}", "-k", "1M", "{url}"}, always},
	}},
	{"lftp mirror", "lftp", map[form]line{
		formList: {[]string{"lftp", "-c", "mirror -P {n} {base} {dir}"}, always},
		formTree: {[]string{"lftp", "-c", "mirror -P {n} {base} {dir}"}, always},
	}},
	{"lftp queue", "lftp", map[form]line{
		formList: {[]string{"lftp", "-f", "{home}/lftp"}, always},
	}},
	{"lftp pget", "lftp", map[form]line{
		formLarge: {[]string{"lftp", "-c", "pget -n {n} {url}"}, always},
	}},
	{"rclone", "rclone", map[form]line{
		formList:  {rclone("--no-traverse", "--files-from", "{home}/paths"), always},
		formTree:  {rclone(), always},
		formLarge: {rclone("--multi-thread-cutoff", "1M", "--multi-thread-streams", "{n}"), always},
	}},
	{"ncftpget", "ncftpget", map[form]line{
		formList:  {[]string{"ncftpget", "-V", "-P", "{port}", "{host}", ".", "{paths}"}, one},
		formTree:  {[]string{"ncftpget", "-V", "-R", "-P", "{port}", "{host}", ".", "{dir}"}, one},
		formLarge: {[]string{"ncftpget", "-V", "{url}"}, one},
	}},
}

func (c *client) installed() bool {
	_, err := exec.LookPath(c.program)
	return err == nil
}
