//go:build linux

// Command picture draws docs/terminal.svg: the contents of a terminal after the command has run on it.
//
//	go run ./lab/interop/picture >docs/terminal.svg
package main

import (
	"crypto/md5"
	"fmt"
	"html"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"example.com/ftpfetch/internal/testkit/screen"
	"example.com/ftpfetch/testserver"
)

// commands are the typed lines. Each ends by itself, or is killed once the terminal shows until; the last one is then
// drawn.
var commands = []struct{ line, until string }{
	{"ftpfetch --limit-rate 8M ftp://ftp.example.org/pub/genome.fa.gz", ` 4\d %`},
	{"ftpfetch ftp://ftp.example.org/pub/genome.fa.gz", ""},
	{"ftpfetch --manifest reads.tsv -d data", ""},
	{"ftpfetch -r -N -j 4 --limit-rate 8M ftp://ftp.example.org/pub/project/", `[345] of 12 files.* left`},
}

const width = 92 // of the terminal, in characters

func main() {
	mib := map[string]int{"genome.fa.gz": 24, "reads_1.fq.gz": 1, "reads_2.fq.gz": 1}
	for i := range 12 {
		mib[fmt.Sprintf("project/sample-%02d.bam", i+1)] = 2 + i%3*2
	}
	files := map[string]string{}
	for name, mib := range mib {
		files["/pub/"+name] = strings.Repeat("ACGTTGCAACGTGGTA", mib<<16)
	}
	list := fmt.Sprintf("url\tmd5\nftp://ftp.example.org/pub/reads_1.fq.gz\t%x\nftp://ftp.example.org/pub/reads_2.fq.gz\t%x\n",
		md5.Sum([]byte(files["/pub/reads_1.fq.gz"])), md5.Sum(nil))
	dir := must(os.MkdirTemp("", "picture-"))
	defer os.RemoveAll(dir)
	server := must(testserver.Start(&testserver.Options{Tree: files}))
	_ = must(0, os.WriteFile(filepath.Join(dir, "reads.tsv"), []byte(strings.ReplaceAll(list, "ftp.example.org", server.Addr())), 0o666))
	_ = must(exec.Command("go", "build", "-o", filepath.Join(dir, "bin", "ftpfetch"), "./cmd/ftpfetch").Output())

	s := screen.New(width)
	for _, c := range commands {
		fmt.Fprint(s, "$ "+c.line+"\r\n")
		if run(s, dir, strings.ReplaceAll(c.line, "ftp.example.org", server.Addr()), c.until) {
			fmt.Fprint(s, "Killed\r\n")
		}
	}
	rows := strings.Split(s.String(), "\n")
	rows = rows[:len(rows)-2] // the last command is still running
	fmt.Print(strings.ReplaceAll(draw(rows), server.Addr(), "ftp.example.org"))
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// run runs a command line on its own terminal, and reports whether it was killed.
func run(s *screen.Screen, dir, line, until string) (killed bool) {
	keyboard, terminal, err := screen.Open(width, 30)
	_ = must(0, err)
	defer keyboard.Close()
	words := strings.Fields(line)
	c := exec.Command(filepath.Join(dir, "bin", words[0]), words[1:]...)
	c.Dir, c.Env, c.SysProcAttr = dir, append(os.Environ(), "TERM=xterm"), &syscall.SysProcAttr{Setsid: true, Setctty: true}
	c.Stdin, c.Stdout, c.Stderr = terminal, terminal, terminal
	_ = must(0, c.Start())
	terminal.Close()
	shown := make(chan bool)
	go func() {
		s.Show(keyboard)
		close(shown)
	}()
	if until != "" {
		s.Wait(regexp.MustCompile(until).MatchString)
		_ = c.Process.Kill()
	}
	<-shown
	_ = c.Wait()
	return until != ""
}

// draw returns the rows of a screen as a picture with its own background, so that it looks the same on light and dark
// pages.
func draw(rows []string) string {
	const letter, line, margin = 8.4, 20, 18
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">
<title>ftpfetch on a terminal: a download is killed and resumed, a wrong digest is found, a directory is fetched</title>
<rect width="100%%" height="100%%" rx="8" fill="#0d1117" stroke="#30363d"/>
`, width*letter+2*margin, (len(rows)+1)*line+margin)
	for i, row := range rows {
		row = strings.TrimRight(row, " ")
		color := "#c9d1d9"
		switch {
		case strings.HasPrefix(row, "$ "):
			color = "#7ee787"
		case strings.Contains(row, " [=") || strings.Contains(row, " left, "):
			color = "#79c0ff"
		case strings.HasPrefix(row, "ftpfetch: ") || row == "Killed":
			color = "#ffa657"
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" textLength="%.1f" xml:space="preserve" fill="%s">%s</text>`+"\n", margin, (i+1)*line+margin/2, float64(len(row))*letter, color, html.EscapeString(row))
	}
	return b.String() + "</svg>\n"
}
