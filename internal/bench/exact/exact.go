//go:build linux

package exact

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/bench/lab"
	"example.com/ftpfetch/internal/cli"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// urls tell clients apart; SERVER stands for the server's address. The last must be refused.
var urls = []string{
	"ftp://SERVER/etc/motd",
	"ftp://SERVER/%2Fetc/motd",
	"ftp://SERVER//etc/motd",
	"ftp://name:secret@SERVER/etc/motd",
	"ftp://SERVER/home%2Fname/etc%2Fmotd",
	"ftp://SERVER/pub/text.txt;type=a",
	"ftp://SERVER/pub/text.txt;type=i",
	"ftp://SERVER/pub/dir;type=d",
	"ftp://SERVER/pub/dir/",
	"ftp://SERVER/",
	"ftp://SERVER/odd/quest?ion",
	"ftp://SERVER/odd/semi%3Bcolon",
	"ftp://SERVER/odd/per%25cent",
	"ftp://SERVER/odd/latin-%E9",
	"ftp://SERVER/a/%0D%0ADELE%20x/f",
}

var tree = map[string]string{
	"/etc/motd": "m", "/home/name/etc/motd": "m", "/pub/text.txt": "t\n", "/pub/dir/file": "f", "/a/f": "f",
	"/odd/quest?ion": "q", "/odd/semi;colon": "s", "/odd/per%cent": "p", "/odd/latin-\xe9": "l",
}

// client is a program, and its arguments to retrieve a URL.
type client struct {
	name string
	args func(url string) []string
}

var clients = []client{
	{"ftpfetch", func(u string) []string { return []string{"-q", "-o", "-", "--no-prompt", u} }},
	{"curl", func(u string) []string { return []string{"-s", "-m", "10", u} }},
	{"wget", func(u string) []string { return []string{"-q", "-t", "1", "-T", "10", "-O", "-", u} }},
	{"lftp", func(u string) []string {
		verb := "cat "
		if strings.HasSuffix(u, "/") {
			verb = "cls "
		}
		return []string{"-c", "set net:max-retries 1; set net:timeout 10; " + verb + "'" + u + "'"}
	}},
	{"aria2c", func(u string) []string {
		return []string{"-q", "-m", "1", "-t", "10", "--allow-overwrite=true", "-o", "out", u}
	}},
	{"tnftp", func(u string) []string { return []string{"-V", "-g", "-q", "10", "-o", "out", u} }},
}

// Run writes the table of the clients that the flags in args ask for to stdout. It returns an exit code.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("exact", flag.ContinueOnError)
	f.SetOutput(stderr)
	only := f.String("clients", "", "programs to try, comma separated (default all)")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	dir, err := os.MkdirTemp("", "ftpfetch-exact-")
	if err != nil {
		fmt.Fprintln(stderr, "exact:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	report(ctx, stdout, dir, *only)
	return 0
}

func report(ctx context.Context, w io.Writer, dir, only string) {
	var columns []client
	header, rule := "| URL |", "|---|"
	for _, c := range clients {
		if _, err := exec.LookPath(c.name); lab.Wanted(only, c.name) && (err == nil || c.name == "ftpfetch") {
			columns = append(columns, c)
			header += " " + c.name + " |"
			rule += "---|"
		}
	}
	fmt.Fprintln(w, header+"\n"+rule)
	exact := make([]int, len(columns))
	for _, url := range urls {
		fmt.Fprintf(w, "| `%s` |", strings.Replace(url, "SERVER", "host", 1))
		for i, c := range columns {
			verdict := try(ctx, c, url, dir)
			if verdict == "as it says" {
				exact[i]++
			}
			fmt.Fprintf(w, " %s |", verdict)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "| as RFC 1738 says |")
	for _, n := range exact {
		fmt.Fprintf(w, " %d of %d |", n, len(urls))
	}
	fmt.Fprintf(w, "\n\nMachine: %s. Versions:\n\n", lab.Machine())
	for _, c := range columns {
		fmt.Fprintln(w, "-", version(ctx, c.name))
	}
}

// version returns what the program says about itself, or the version of tnftp's package, because tnftp says nothing.
func version(ctx context.Context, name string) string {
	switch name {
	case "ftpfetch":
		return "ftpfetch (devel)" // the code that this program was built with
	case "tnftp":
		out, _ := exec.CommandContext(ctx, "dpkg-query", "-W", name).Output()
		return strings.Join(strings.Fields(string(out)), " ")
	}
	return lab.ProgramVersion(ctx, name)
}

// try runs one client on one URL. If the client sent something other than the URL says, try returns that.
func try(ctx context.Context, c client, url, dir string) string {
	s, err := testserver.Start(&testserver.Options{
		Tree: tree, Users: map[string]string{"name": "secret"}, Home: map[string]string{"name": "/home/name"},
	})
	if err != nil {
		return err.Error()
	}
	defer s.Close()
	url = strings.Replace(url, "SERVER", s.Addr(), 1)
	run(ctx, c, url, dir)
	want, got := planned(url), open(url, said(s.Commands()))
	switch {
	case slices.Equal(want, got):
		return "as it says"
	case len(got) == 0:
		return "nothing sent"
	}
	return "`" + strings.ReplaceAll(strings.Join(got, ", "), "|", `\|`) + "`"
}

// run waits for the client, at most 30 seconds. It ignores the client's output and exit code.
func run(ctx context.Context, c client, url, dir string) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if c.name == "ftpfetch" {
		cli.Run(ctx, append([]string{"--allow-port"}, c.args(url)...), cli.IO{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
		return
	}
	cmd := exec.CommandContext(ctx, c.name, c.args(url)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "LFTP_HOME="+filepath.Join(dir, "lftp"))
	cmd.Stdout, cmd.Stderr = &bytes.Buffer{}, &bytes.Buffer{}
	_ = cmd.Run()
}

// planned returns what the URL says: the commands from the first CWD on, or none if it must be refused.
func planned(url string) []string {
	u, err := urlparse.Parser{AllowPort: true}.Parse(url)
	if err != nil {
		return nil
	}
	p, err := ftpexec.NewPlan(u)
	if err != nil {
		return nil
	}
	var lines []string
	for _, c := range p.Commands {
		lines = append(lines, c.Line())
	}
	return said(lines)
}

// said keeps the commands that decide what is retrieved, and those that change the server. It puts the TYPE that
// is in force right before the transfer, wherever it was sent.
func said(lines []string) []string {
	var all []string
	kind := "TYPE A" // RFC 959 section 5.1
	for _, line := range lines {
		verb, _, _ := strings.Cut(line, " ")
		switch verb {
		case "TYPE":
			kind = line
		case "CWD", "DELE":
			all = append(all, strings.ToValidUTF8(line, `\x`))
		case "RETR", "NLST", "LIST", "MLSD":
			all = append(all, kind, strings.ToValidUTF8(line, `\x`))
		}
	}
	return all
}

// open turns LIST of a directory into NLST if the URL has no typecode, because the RFC leaves the choice open.
func open(url string, lines []string) []string {
	n := len(lines) - 1
	if n >= 0 && lines[n] == "LIST" && strings.HasSuffix(url, "/") {
		return append(slices.Clone(lines[:n]), "NLST")
	}
	return lines
}
