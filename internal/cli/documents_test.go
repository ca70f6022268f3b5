package cli

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"example.com/ftpfetch/docs"
)

var update = flag.Bool("update", false, "write docs/coming-from.md")

func eachFlag(f func(*pflag.Flag)) {
	for _, g := range new(options).groups() {
		g.VisitAll(f)
	}
}

// TestFlagsAreEverywhere checks that the help, the man page and the completions name
// the flags that there are, with their letters and values, and no others, and that
// the help, the man page and README.md have the same exit codes.
func TestFlagsAreEverywhere(t *testing.T) {
	want, names := make(map[string]bool), make(map[string]bool)
	eachFlag(func(f *pflag.Flag) {
		value, _ := pflag.UnquoteUsage(f)
		want[fmt.Sprint(f.Shorthand, " ", f.Name, " ", value)], names[f.Name] = true, true
	})
	if len(want) > 63 {
		t.Errorf("there are %d flags: a new one takes the place of two", len(want))
	}
	man := strings.NewReplacer(`\-`, "-", `\fB`, "", `\fR`, "", `\fI`, "", `\&`, "").Replace(docs.Man)
	for where, text := range map[string]string{"the help": strings.Replace(helpText(), `[="~/.netrc"]`, "", 1), "the man page": man} {
		got := make(map[string]bool)
		for _, f := range regexp.MustCompile(`(?m)^ *(?:-(\S), )?--([a-z0-9-]+)(?: (\S+))?(?:$|  )`).FindAllStringSubmatch(text, -1) {
			got[strings.Join(f[1:], " ")] = true
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s has %q\nwant %q", where, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
	}
	for name, spelled := range map[shell]string{"bash": ` --([a-z0-9-]+)`, "zsh": `(?m)^\t(?:'.*'\{.*,)?--([a-z0-9-]+)`, "fish": ` -l ([a-z][a-z0-9-]+)`} {
		got := make(map[string]bool)
		for _, f := range regexp.MustCompile(spelled).FindAllStringSubmatch(name.completion(), -1) {
			got[f[1]] = true
		}
		if !maps.Equal(got, names) {
			t.Errorf("%s completes %q\nwant %q", name, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(names)))
		}
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range exits {
		for where, row := range map[string]string{
			helpText():     fmt.Sprintf("\n  %3d  %s\n", e.code, e.text),
			man:            fmt.Sprintf("\n.B %d\n%s\n", e.code, e.text),
			string(readme): fmt.Sprintf("%d", e.code),
		} {
			if !strings.Contains(where, row) {
				t.Errorf("%.20q has no %q", where, row)
			}
		}
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
	_, man, _ := strings.Cut(docs.Man, ".SH EVENTS\n")
	fields := reflect.TypeFor[event]()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		if !regexp.MustCompile(`(?m)^\| [^|]*\x60`+name+`\x60`).Match(text) || !strings.Contains(man, name) {
			t.Errorf("%s is not in docs/progress.md or the man page", name)
		}
	}
}
