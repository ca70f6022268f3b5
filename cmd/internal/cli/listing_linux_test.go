package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// BenchmarkListings measures listings of 10,000 lines, at night of a million, in the commonest formats. It reports the
// processor time of the command and of the installed clients, and the most memory that they take.
func BenchmarkListings(b *testing.B) {
	dir := b.TempDir()
	command := filepath.Join(dir, "ftpfetch")
	if out, err := exec.Command("go", "build", "-o", command, "example.com/ftpfetch/cmd/ftpfetch").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	lines := night.Or(10_000, 1_000_000)
	for _, format := range [][2]string{
		{"MLSD", "modify=20260102030405;size=%d;type=file;UNIX.mode=0644; name%07[1]d\r\n"},
		{"ls -l", "-rw-r--r--    1 ftp      ftp          %7d Jan 02  2003 name%07[1]d\r\n"},
		{"DOS", "01-02-06  03:04PM              %7d name%07[1]d\r\n"},
		{"EPLF", "+i8388621.48594,m825718503,r,s%d,\tname%07[1]d\r\n"},
		{"VMS", "NAME%07[1]d.TXT;1    12/15   2-JAN-2006 15:04:05  [SYSTEM]  (RWED,RWED,RE,RE)\r\n"},
	} {
		var all strings.Builder
		for i := range lines {
			fmt.Fprintf(&all, format[1], i)
		}
		s := testserver.Honest("").With("MLSD", testserver.Reply("500 No.")).With("LIST", testserver.Transfer(all.String()))
		if format[0] == "MLSD" {
			s = s.With("MLSD", testserver.Transfer(all.String()))
		}
		server := testserver.New(b, nil, s)
		url := server.URL("/d/")
		for _, client := range [][]string{
			{command, "-l", url}, {command, "-l", "--sort", "none", url}, {command, "-I", "-r", url},
			{"lftp", "-c", "open " + server.URL("") + "; cls -l d/"}, {"wget", "-q", "-O", os.DevNull, url},
		} {
			if _, err := exec.LookPath(client[0]); err != nil {
				continue
			}
			name := strings.ReplaceAll(strings.Join(client[:len(client)-1], " "), command, "ftpfetch")
			b.Run(format[0]+"/"+name, func(b *testing.B) {
				measure(b, client, lines)
			})
		}
	}
}

// measure runs a client and reports what it costs. GNU time starts the client, because a process's memory count begins
// with that of the process that starts it.
func measure(b *testing.B, client []string, lines int) {
	var spent, most float64
	for b.Loop() {
		cmd := exec.Command("/usr/bin/time", append([]string{"-f", "%U %S %M"}, client...)...)
		cmd.Dir = b.TempDir()
		var said strings.Builder
		cmd.Stderr = &said
		if err := cmd.Run(); err != nil {
			b.Fatalf("%q: %v: %s", client, err, said.String())
		}
		last := strings.Split(strings.TrimSpace(said.String()), "\n")
		var user, system, memory float64
		if _, err := fmt.Sscan(last[len(last)-1], &user, &system, &memory); err != nil {
			b.Fatalf("%q: %v: %s", client, err, said.String())
		}
		spent += user + system
		most = max(most, memory)
	}
	b.ReportMetric(spent/float64(b.N)/float64(lines)*1e9, "cpu-ns/line")
	b.ReportMetric(most/1024, "MiB")
	b.ReportMetric(0, "ns/op")
}
