//go:build linux

// Command picture draws docs/terminal.svg: what a terminal shows in the end after the command has run on it.
//
//	go run ./internal/interop/picture >docs/terminal.svg
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
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"example.com/ftpfetch/testserver"
)

// commands are what is typed. Each ends by itself, or is killed when the terminal shows until; the last one is drawn then.
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

	s := &screen{rows: []string{""}}
	for _, c := range commands {
		s.write("$ " + c.line + "\r\n")
		if s.run(dir, strings.ReplaceAll(c.line, "ftp.example.org", server.Addr()), c.until) {
			s.write("Killed\r\n")
		}
	}
	s.rows = s.rows[:len(s.rows)-2] // the last command is still at work
	fmt.Print(strings.ReplaceAll(s.draw(), server.Addr(), "ftp.example.org"))
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// run runs a command line on a terminal of its own, and reports whether it was killed.
func (s *screen) run(dir, line, until string) (killed bool) {
	terminal := must(os.OpenFile("/dev/ptmx", os.O_RDWR, 0))
	defer terminal.Close()
	fd := int(terminal.Fd())
	_ = must(0, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	_ = must(0, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: width}))
	side := must(os.OpenFile(fmt.Sprintf("/dev/pts/%d", must(unix.IoctlGetInt(fd, unix.TIOCGPTN))), os.O_RDWR|unix.O_NOCTTY, 0))
	words := strings.Fields(line)
	c := exec.Command(filepath.Join(dir, "bin", words[0]), words[1:]...)
	c.Dir, c.Env, c.SysProcAttr = dir, append(os.Environ(), "TERM=xterm"), &syscall.SysProcAttr{Setsid: true, Setctty: true}
	c.Stdin, c.Stdout, c.Stderr = side, side, side
	_ = must(0, c.Start())
	side.Close()
	buffer := make([]byte, 4096)
	for {
		n, err := terminal.Read(buffer)
		if s.write(string(buffer[:n])); err != nil {
			_ = c.Wait()
			return killed
		}
		if until != "" && !killed && regexp.MustCompile(until).MatchString(strings.Join(s.rows, "\n")) {
			killed = true
			_ = c.Process.Kill()
		}
	}
}

// screen is as much of a terminal as the command needs.
type screen struct {
	rows        []string
	row, column int
}

// token is a control sequence or a character.
var token = regexp.MustCompile(`(?s)\x1b\[(\d*)([A-Za-z])|.`)

func (s *screen) write(text string) {
	for _, m := range token.FindAllStringSubmatch(text, -1) {
		switch row := s.rows[s.row]; {
		case m[2] == "A":
			n, _ := strconv.Atoi(m[1])
			s.row = max(0, s.row-n)
		case m[2] == "J":
			s.rows = append(s.rows[:s.row], row[:min(s.column, len(row))])
		case m[0] == "\r":
			s.column = 0
		case m[0] == "\n", s.column == width:
			if s.row++; s.row == len(s.rows) {
				s.rows = append(s.rows, "")
			}
			if m[0] != "\n" {
				s.column = 0
				s.write(m[0])
			}
		default:
			row += strings.Repeat(" ", max(0, s.column-len(row)))
			s.rows[s.row] = row[:s.column] + m[0] + row[min(len(row), s.column+1):]
			s.column++
		}
	}
}

// draw returns the screen as a picture, on a ground of its own: it looks the same on light and dark pages.
func (s *screen) draw() string {
	const letter, line, margin = 8.4, 20, 18
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">
<title>ftpfetch on a terminal: a download is killed and resumed, a wrong digest is found, a directory is fetched</title>
<rect width="100%%" height="100%%" rx="8" fill="#0d1117" stroke="#30363d"/>
`, width*letter+2*margin, (len(s.rows)+1)*line+margin)
	for i, row := range s.rows {
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
