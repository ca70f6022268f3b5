package cli

import (
	"flag"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write docs/ftpfetch.1")

const manFile = "../../docs/ftpfetch.1"

// TestManFile checks that the committed man page is what --man prints.
func TestManFile(t *testing.T) {
	if *update {
		if err := os.WriteFile(manFile, []byte(manPage()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile(manFile)
	if err != nil || string(committed) != manPage() {
		t.Errorf("docs/ftpfetch.1 is not what --man prints (%v): go test ./internal/cli -run TestManFile -update", err)
	}
}

// TestManIsComplete finds every flag and every exit code in the man page.
func TestManIsComplete(t *testing.T) {
	page := manPage()
	eachFlag(func(f *pflag.Flag) {
		if !strings.Contains(page, `\fB`+roff("--"+f.Name)+`\fR`) {
			t.Errorf("no --%s", f.Name)
		}
	})
	for _, e := range exitMeanings {
		if !strings.Contains(page, roff(e.text)+"\n") {
			t.Errorf("no exit code %d", e.code)
		}
	}
	for i, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") && !strings.Contains(manMacros, " "+firstWord(line)+" ") {
			t.Errorf("roff reads line %d as a request: %q", i+1, line)
		}
	}
}

// TestManStandards checks that the man page names the RFCs that the code of ftpfetch
// cites, and no others.
func TestManStandards(t *testing.T) {
	rfc := regexp.MustCompile(`\bRFC\s+(?://\s+)?([0-9]+)`)
	cited := map[string]bool{}
	for _, dir := range []string{"cmd", "internal/cli", "internal/gateway", "internal/netrc", "internal/proxy", "ftpexec", "download", "urlparse"} {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || d.Name() == "man.go" {
				return err
			}
			text, err := os.ReadFile(path)
			for _, match := range rfc.FindAllStringSubmatch(string(text), -1) {
				cited[match[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	named := map[string]bool{}
	for _, match := range rfc.FindAllStringSubmatch(manStandards, -1) {
		named[match[1]] = true
	}
	if got, want := slices.Sorted(maps.Keys(named)), slices.Sorted(maps.Keys(cited)); !slices.Equal(got, want) {
		t.Errorf("STANDARDS names RFC %v, the code %v", got, want)
	}
}

const manMacros = ` .\" .TH .nh .ad .SH .SS .PP .TP .B .BR .IR .IB .EX .EE `

func firstWord(line string) string {
	word, _, _ := strings.Cut(line, " ")
	return word
}

func eachFlag(f func(*pflag.Flag)) {
	for _, g := range new(options).groups() {
		g.VisitAll(f)
	}
}

func TestRoff(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"plain text", "plain text"},
		{".hidden", `\&.hidden`},
		{"'quoted'", `\(aqquoted\(aq`},
		{`a\nb`, `a\enb`},
		{"-o FILE", `\-o FILE`},
		{"~/x^`\"", `\(ti/x\(ha\(ga\(dq`},
	} {
		if got := roff(tt.in); got != tt.want {
			t.Errorf("roff(%q) = %s, want %s", tt.in, got, tt.want)
		}
	}
	if got, want := manUsage("save as `FILE`; or -"), `save as \fIFILE\fR; or \-`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestExitLines(t *testing.T) {
	last := -1
	for _, e := range exitMeanings {
		if e.code <= last {
			t.Errorf("exit code %d comes after %d", e.code, last)
		}
		last = e.code
	}
	for line := range strings.Lines(exitLines()) {
		if len(line) > 80 {
			t.Errorf("longer than 79 characters: %s", line)
		}
	}
}

// TestCompletions finds every flag and its choices in every script.
func TestCompletions(t *testing.T) {
	spelling := map[shell]string{"bash": " --%", "zsh": "--%", "fish": " -l %"}
	for name := range completions {
		script := name.completion()
		eachFlag(func(f *pflag.Flag) {
			c := newCompletable(f)
			if !strings.Contains(script, strings.ReplaceAll(spelling[name], "%", f.Name)) {
				t.Errorf("%s: no --%s", name, f.Name)
			}
			if c.choices != nil && !strings.Contains(script, strings.Join(c.choices, " ")) {
				t.Errorf("%s: no choices for --%s", name, f.Name)
			}
		})
	}
}

// TestBashCompletion makes bash complete the last of some words.
func TestBashCompletion(t *testing.T) {
	script := shell("bash").completion() + `
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _ftpfetch; echo "${COMPREPLY[*]}"; }
`
	tests := []struct{ words, want string }{
		{"ftpfetch --progr", "--progress"},
		{"ftpfetch --type ''", "a i d guess"},
		{"ftpfetch --type =", "a i d guess"},
		{"ftpfetch --type = g", "guess"},
		{"ftpfetch -u -", ""},
		{"ftpfetch ftp://h", ""},
	}
	for _, tt := range tests {
		script += "try " + tt.words + "\n"
	}
	bash := exec.Command("bash", "--norc", "-eu")
	bash.Stdin = strings.NewReader(script)
	out, err := bash.CombinedOutput()
	got := strings.Split(string(out), "\n")
	if err != nil || len(got) != len(tests)+1 {
		t.Fatalf("%v\n%s", err, out)
	}
	for i, tt := range tests {
		if got[i] != tt.want {
			t.Errorf("%s: got %q, want %q", tt.words, got[i], tt.want)
		}
	}
}

// TestEventsAreDocumented finds every field of an event in docs/progress.md and
// the man page.
func TestEventsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/progress.md")
	if err != nil {
		t.Fatal(err)
	}
	fields := reflect.TypeFor[event]()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		for where, ok := range map[string]bool{
			"the table of fields":  regexp.MustCompile(`(?m)^\| [^|]*\x60` + name + `\x60`).Match(text),
			"docs/progress.md":     strings.Count(string(text), "`"+name+"`") > 1 || name == "event",
			"the man page (EVENT)": strings.Contains(manEvents, name),
		} {
			if !ok {
				t.Errorf("%s is not in %s", name, where)
			}
		}
	}
}
