package config_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/cmd/internal/cli"
	"example.com/ftpfetch/cmd/internal/cli/config"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/throwaway"
	"example.com/ftpfetch/testserver"
)

// habit is a row of testdata/habits.txt.
type habit struct{ program, typed, effect string }

func habits(t *testing.T) (all []habit) {
	for line := range strings.Lines(string(must.Get(os.ReadFile("testdata/habits.txt"))(t))) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), " | ", 3)
		if len(part) == 3 {
			all = append(all, habit{part[0], part[1], part[2]})
		}
	}
	return all
}

// TestEveryHabit checks that testdata/habits.txt tries each row of the table of habits. A row that several programs share
// may be tried as any of them.
func TestEveryHabit(t *testing.T) {
	tried := make(map[string]bool)
	for _, h := range habits(t) {
		for word := range strings.FieldsSeq(h.typed) {
			word, _, _ = strings.Cut(word, "=")
			tried[h.program+" "+word] = true
			tried[" "+word] = true
		}
	}
	for _, row := range config.HabitsOf() {
		program, spellings := strings.TrimSuffix(row[0], "any"), strings.Fields(row[1])
		if !slices.ContainsFunc(spellings, func(spelling string) bool { return tried[program+" "+spelling] }) {
			t.Errorf("%s of %q is not tried", row[1], row[0])
		}
	}
}

// TestHabitsRun types each line as a user of the program would. The command that the answer shows, or the line itself if
// it is accepted, must leave the files and print the text that the program would, and lose nothing. If no command does,
// the answer must name the page.
func TestHabitsRun(t *testing.T) {
	s := testserver.New(t, &testserver.Options{
		Users: map[string]string{"me": "secret"},
		Tree: map[string]string{"/f": "contents", "/d/a.txt": "contents", "/d/b.gz": "contents", "/d/sub/c.gz": "contents",
			"/d/sub/e.txt": "contents", "/l": "a.txt\n"},
	})
	secure := testserver.New(t, &testserver.Options{Scheme: "ftpes", Tree: map[string]string{"/f": "contents"}})
	id := must.Get(throwaway.Loopback())(t)
	pem := append(must.Get(id.ServerPEM())(t), id.RootPEM()...)
	fill := strings.NewReplacer("URL", strings.TrimSuffix(s.URL("/"), "/"), "TLS", "ftp://"+secure.Addr(), "ADDR", s.Addr(), "'", "")
	for _, h := range habits(t) {
		typed := strings.Fields(h.typed)
		for i, word := range typed {
			typed[i] = fill.Replace(word)
		}
		words := config.As(h.program, typed)
		want := strings.Join(words, " ")
		switch h.effect {
		case "page":
			_, err := config.Parse(typed)
			lines := strings.Split(fmt.Sprint(err), "\n")
			if words != nil || !strings.HasPrefix(lines[len(lines)-1], "docs/coming-from.md") {
				t.Errorf("%s %s: got %q, %v", h.program, h.typed, words, err)
			}
		default:
			if words == nil {
				_, err := config.Parse(typed)
				t.Errorf("%s %s: no command: %v", h.program, h.typed, err)
				break
			}
			if got := effect(t, words, pem); !like(got, h.effect) {
				t.Errorf("%s %s: %q: got %s", h.program, h.typed, words, got)
			}
		}
		if shown, err := answer(typed); err != nil && shown != want {
			t.Errorf("%s %s: the answer is %v, want %s", h.program, h.typed, err, want)
		}
	}
}

// answer returns the command that ftpfetch shows in place of a wrong line, without the quotes.
func answer(typed []string) (command string, err error) {
	_, err = config.Parse(typed)
	if err != nil {
		text := err.Error()
		last := text[strings.LastIndexByte(text, '\n')+1:]
		if strings.HasPrefix(last, "as ") {
			_, command, _ = strings.Cut(last, ": ftpfetch ")
		}
	}
	return strings.ReplaceAll(command, "'", ""), err
}

// like reports whether got contains the parts of want, which "..." separates.
func like(got, want string) bool {
	parts := strings.Split(want, "...")
	for i, part := range parts {
		at := strings.Index(got, part)
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		got = got[at+len(part):]
	}
	return got == "" || len(parts) > 1 && parts[len(parts)-1] == ""
}

// effect runs a command in a directory with files, and returns what it prints and leaves there.
func effect(t *testing.T, words []string, pem []byte) string {
	dir := t.TempDir()
	t.Chdir(dir)
	must.Do(t, os.Mkdir("d", 0o777))
	before := map[string]string{"keep": "mine", "d/gone": "mine", "g": "old", "list": "", "names": "a.txt\nsub/c.gz\n", "ca.pem": string(pem),
		"netrc": "machine 127.0.0.1 login me password secret\n"}
	for i, word := range words {
		if word == "-i" && words[i+1] == "list" && i < len(words)-1 {
			before["list"] = words[len(words)-1] + "\n" // -i takes a list in place of the URL
			words = words[:len(words)-1]
		}
	}
	for name, text := range before {
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
	var stdout, stderr bytes.Buffer
	code := cli.Run(t.Context(), append(words, "--retries=0"), cli.IO{In: strings.NewReader("secret\n"), Out: &stdout, Err: &stderr})
	var got []string
	must.Do(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), ".ftpfetch") {
			return err
		}
		text := string(must.Get(os.ReadFile(path))(t))
		old, was := before[path]
		delete(before, path)
		if was && old != text || !was && text != "" && strings.HasPrefix("contents", text) {
			got = append(got, path)
		}
		return nil
	}))
	for path := range before {
		got = append(got, "lost:"+path)
	}
	for line := range strings.Lines(stdout.String()) {
		got = append(got, ">"+strings.Join(strings.Fields(line), " "))
	}
	if code != 0 {
		got = append(got, "exit", stderr.String())
	}
	return strings.Join(got, " ")
}
