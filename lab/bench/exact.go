package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"example.com/ftpfetch/testserver"
)

// urls are URLs at which clients differ, and what RFC 1738 section 3.2.2 requires: the directory changes, the transfer
// type in effect and the transfer. SERVER stands for the server's address. A client must refuse the last URL.
var urls = []struct{ url, want string }{
	{"ftp://SERVER/etc/motd", "CWD etc, TYPE I, RETR motd"},
	{"ftp://SERVER/%2Fetc/motd", "CWD /etc, TYPE I, RETR motd"},
	{"ftp://SERVER//etc/motd", "CWD , CWD etc, TYPE I, RETR motd"},
	{"ftp://name:secret@SERVER/etc/motd", "CWD etc, TYPE I, RETR motd"},
	{"ftp://SERVER/home%2Fname/etc%2Fmotd", "CWD home/name, TYPE I, RETR etc/motd"},
	{"ftp://SERVER/pub/text.txt;type=a", "CWD pub, TYPE A, RETR text.txt"},
	{"ftp://SERVER/pub/text.txt;type=i", "CWD pub, TYPE I, RETR text.txt"},
	{"ftp://SERVER/pub/dir;type=d", "CWD pub, TYPE A, NLST dir"},
	{"ftp://SERVER/pub/dir/", "CWD pub, CWD dir, TYPE A, NLST"},
	{"ftp://SERVER/", "TYPE A, NLST"},
	{"ftp://SERVER/odd/quest?ion", "CWD odd, TYPE I, RETR quest?ion"},
	{"ftp://SERVER/odd/semi%3Bcolon", "CWD odd, TYPE I, RETR semi;colon"},
	{"ftp://SERVER/odd/per%25cent", "CWD odd, TYPE I, RETR per%cent"},
	{"ftp://SERVER/odd/latin-%E9", `CWD odd, TYPE I, RETR latin-\x`},
	{"ftp://SERVER/a/%0D%0ADELE%20x/f", ""},
}

var exactTree = map[string]string{
	"/etc/motd": "m", "/home/name/etc/motd": "m", "/pub/text.txt": "t\n", "/pub/dir/file": "f", "/a/f": "f",
	"/odd/quest?ion": "q", "/odd/semi;colon": "s", "/odd/per%cent": "p", "/odd/latin-\xe9": "l",
}

// exactLines are the command lines; a space ends a word.
var exactLines = []struct{ program, line string }{
	{ours, "-q -o - URL"},
	{"curl", "-s -m 10 URL"},
	{"wget", "-q -t 1 -T 10 -O - URL"},
	{"lftp", "-c set\tnet:max-retries\t1;set\tnet:timeout\t10;VERB\t'URL'"},
	{"aria2c", "-q -m 1 -t 10 --allow-overwrite=true -o out URL"},
	{"tnftp", "-V -g -q 10 -o out URL"},
}

// exact gives each client the URLs and compares the commands that a server receives.
func exact(ctx context.Context, b *bench, w io.Writer) error {
	if _, err := tuneTCP(); err != nil { // for the loopback interface
		return err
	}
	header, rule := "| URL |", "|---|"
	var programs []string
	right := make([]int, len(exactLines))
	for _, c := range exactLines {
		header, rule, programs = header+" "+c.program+" |", rule+"---|", append(programs, c.program)
	}
	fmt.Fprintln(w, header+"\n"+rule)
	for _, u := range urls {
		fmt.Fprintf(w, "| `%s` |", strings.Replace(u.url, "SERVER", "host", 1))
		for i, c := range exactLines {
			if b.short && c.program != ours && c.program != "curl" {
				continue
			}
			got, err := received(ctx, b.dir, c.program, c.line, u.url)
			if err != nil {
				return err
			}
			verdict := fmt.Sprintf("`%s`", strings.ReplaceAll(got, "|", `\|`))
			switch got {
			case u.want:
				verdict = "as it says"
				right[i]++
			case "":
				verdict = "nothing sent"
			}
			fmt.Fprintf(w, " %s |", verdict)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "| as RFC 1738 says |")
	for _, n := range right {
		fmt.Fprintf(w, " %d of %d |", n, len(urls))
	}
	fmt.Fprintf(w, "\n\nMachine: %s. %s.\n", machine(), versions(ctx, programs))
	if right[0] != len(urls) {
		return fmt.Errorf("ftpfetch asked for %d of %d as the RFC says", right[0], len(urls))
	}
	return nil
}

// received runs one client on one URL. It returns the commands that decide what is retrieved, and those that change
// files on the server.
func received(ctx context.Context, dir, program, line, url string) (string, error) {
	s, err := testserver.Start(&testserver.Options{
		Tree: exactTree, Users: map[string]string{"name": "secret"}, Home: map[string]string{"name": "/home/name"},
	})
	if err != nil {
		return "", err
	}
	defer s.Close()
	url = strings.Replace(url, "SERVER", s.Addr(), 1)
	verb := "cat"
	if strings.HasSuffix(url, "/") {
		verb = "cls"
	}
	home, err := os.MkdirTemp(dir, "exact-")
	if err != nil {
		return "", err
	}
	fill := strings.NewReplacer("\t", " ", "VERB", verb, "URL", url)
	words := []string{program}
	for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ' ' }) {
		words = append(words, fill.Replace(word))
	}
	if _, err := exec.LookPath(program); err != nil {
		return "", err
	}
	_, _ = execute(ctx, words, home, home, 30*time.Second)
	return said(url, s.Commands()), nil
}

// said puts the TYPE in effect right before the transfer, wherever the client sent it. LIST of a directory counts as
// NLST if the URL has no typecode, because the RFC leaves that choice open.
func said(url string, lines []string) string {
	var all []string
	kind := "TYPE A" // RFC 959 section 5.1
	for _, line := range lines {
		verb, _, _ := strings.Cut(line, " ")
		switch {
		case verb == "TYPE":
			kind = line
		case verb == "CWD" || verb == "DELE":
			all = append(all, line)
		case line == "LIST" && strings.HasSuffix(url, "/"):
			all = append(all, kind, "NLST")
		case slices.Contains([]string{"RETR", "NLST", "LIST", "MLSD"}, verb):
			all = append(all, kind, line)
		}
	}
	return strings.ToValidUTF8(strings.Join(all, ", "), `\x`)
}
