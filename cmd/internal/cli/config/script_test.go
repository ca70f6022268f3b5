package config_test

import (
	"strings"
	"testing"

	"example.com/ftpfetch/cmd/internal/cli/config"
	"example.com/ftpfetch/testserver"
)

// TestScripts types lines as users of lftp do who give it commands. The command that the answer shows must leave the
// files and print the text that lftp would. Without an effect there must be no such command.
func TestScripts(t *testing.T) {
	s := testserver.New(t, &testserver.Options{
		Users: map[string]string{"me": "secret"},
		Tree: map[string]string{"/f": "contents", "/d/a.txt": "contents", "/d/b.gz": "contents", "/d/sub/c.gz": "contents",
			"/d/sub/e.txt": "contents", "/with space": "contents"},
	})
	host, port, _ := strings.Cut(s.Addr(), ":")
	fill := strings.NewReplacer("ADDR", s.Addr(), "HOST", host, "PORT", port)
	for _, tt := range []struct {
		args   []string
		effect string
	}{
		{[]string{"-e", "get f; quit", "ADDR"}, "f"},
		{[]string{"-e", "get /f -o h; bye", "ADDR"}, "h"},
		{[]string{"-e", "set ssl:verify-certificate yes; get f; bye", "ADDR"}, "f"},
		{[]string{"-e", "set ftp:ssl-allow no; cd d; get sub/c.gz; bye", "ADDR"}, "c.gz"},
		{[]string{"-e", "cd /d/sub && get c.gz && quit", "ADDR"}, "c.gz"},
		{[]string{"-e", "lcd e; get d/a.txt; exit", "ADDR"}, "e/a.txt"},
		{[]string{"-e", "mget /d/*.txt; quit", "ADDR"}, "a.txt"},
		{[]string{"-e", "mirror /d; bye", "ADDR"}, "d/a.txt d/b.gz d/sub/c.gz d/sub/e.txt"},
		{[]string{"-e", "mirror d/sub out; bye", "ADDR"}, "out/c.gz out/e.txt"},
		{[]string{"-e", "mirror -P 3 d/sub; bye", "ftp://ADDR"}, "sub/c.gz sub/e.txt"},
		{[]string{"-c", "open ADDR; mirror -X *.gz /d/sub; quit"}, "sub/e.txt"},
		{[]string{"-c", "pget -n 4 -c ftp://ADDR/f"}, "f"},
		{[]string{"-c", "get ftp://ADDR/f"}, "f"},
		{[]string{"-p", "PORT", "HOST", "-e", "ls d; bye"}, ">-...a.txt >-...b.gz >d...sub/"},
		{[]string{"-e", "nlist /d/sub; bye", "ADDR"}, ">c.gz >e.txt"},
		{[]string{"-e", "cat f; bye", "ADDR"}, ">contents"},
		{[]string{"-e", "get f d/a.txt; bye", "ADDR"}, "a.txt f"},
		{[]string{"-e", "cd sub; get c.gz; bye", "ADDR/d"}, "c.gz"},

		{[]string{"-e", "get f; get d/a.txt; bye", "ADDR"}, ""},
		{[]string{"-e", "put f; bye", "ADDR"}, ""},
		{[]string{"-e", "get 'with space'; bye", "ADDR"}, ""},
		{[]string{"-e", "get with%20space; bye", "ADDR"}, ""},
		{[]string{"-e", "set net:limit-rate 5K; get f; bye", "ADDR"}, ""},
		{[]string{"-e", "mirror -R d; bye", "ADDR"}, ""},
		{[]string{"-e", "mirror --only-missing d; bye", "ADDR"}, ""},
		{[]string{"-e", "get f > g; bye", "ADDR"}, ""},
		{[]string{"-e", "get f; bye"}, ""},
		{[]string{"-e", "get f; cd d; bye", "ADDR"}, ""},
	} {
		typed := make([]string, len(tt.args))
		for i, word := range tt.args {
			typed[i] = fill.Replace(word)
		}
		command, err := answer(typed)
		switch {
		case (command != "") != (tt.effect != "") || err == nil:
			t.Errorf("%q: %v", typed, err)
		case command != "":
			words := strings.Fields(command)
			if got := effect(t, words, nil); !like(got, tt.effect) {
				t.Errorf("%q: %q: got %s", typed, words, got)
			}
		}
	}
	_, err := config.Parse([]string{"-u", "me,secret", "-e", "mirror /d; quit", "h"})
	if text := err.Error(); !strings.HasSuffix(text, "ftpfetch -r -N -u me ftp://h/%2Fd") || strings.Contains(text, "secret") {
		t.Errorf("got %s", text)
	}
}
