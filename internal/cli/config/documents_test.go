package config

import (
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/docs"
	"example.com/ftpfetch/download/manifest"
)

// TestFlagsAreEverywhere checks that the help and the man page name the flags that there are, with their letters and
// values, and no others.
func TestFlagsAreEverywhere(t *testing.T) {
	want := make(map[string]bool)
	for _, f := range flags() {
		want[f.letter+" "+f.name+" "+f.value] = true
		if usage(f) == "" {
			t.Errorf("the help says nothing of --%s", f.name)
		}
	}
	if len(want) > 60 {
		t.Errorf("there are %d flags: a new one takes the place of two", len(want))
	}
	man := strings.NewReplacer(`\-`, "-", `\fB`, "", `\fR`, "", `\fI`, "", `\&`, "").Replace(docs.Man)
	for where, text := range map[string]string{"the help": regexp.MustCompile(`\[=(.*)\]`).ReplaceAllString(Text("help"), " $1"), "the man page": man} {
		got := make(map[string]bool)
		for _, f := range regexp.MustCompile(`(?m)^ *(?:-(\S), )?--([a-z0-9-]+)(?: (\S+))?(?:$|  )`).FindAllStringSubmatch(text, -1) {
			got[strings.Join(f[1:], " ")] = true
		}
		if lacks, has := less(want, got), less(got, want); len(lacks)+len(has) > 0 {
			t.Errorf("%s lacks %q and has %q, which are no flags", where, lacks, has)
		}
	}
}

// TestHelpFits checks that the help fits a terminal of 80 columns, and the short one 30 lines, whose flags are as in the other.
func TestHelpFits(t *testing.T) {
	short := strings.SplitAfter(Text("short"), "\n")
	for i, line := range append(short, strings.SplitAfter(Text("help"), "\n")...) {
		text := strings.TrimSuffix(line, "\n")
		flag := regexp.MustCompile(`^ +-\S+.*?(  |$)`).FindString(text)
		if len(text) > 80 || strings.TrimRight(text, " ") != text || i < len(short) && !strings.Contains(Text("help"), "\n"+flag) {
			t.Errorf("line %d: %q", i+1, text)
		}
	}
	if len(short) > 31 {
		t.Errorf("the short help has %d lines", len(short)-1)
	}
}

// TestFormats checks that --format has the words that package manifest knows.
func TestFormats(t *testing.T) {
	words := strings.Split(lookup("--format").value, "|")
	for _, err := range manifest.Read(strings.NewReader("ftp://h/f"), manifest.Options{Format: "none"}) {
		if want := fmt.Sprintf("write one of %q", words); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// less returns what is in a and not in b.
func less(a, b map[string]bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(a)), func(s string) bool { return b[s] })
}

// TestBashCompletion makes bash complete the last of some words.
func TestBashCompletion(t *testing.T) {
	script, want := Text("bash")+`
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _ftpfetch; echo "${COMPREPLY[*]}"; }
`, ""
	for _, tt := range [][2]string{
		{"--progr", "--progress"}, {"--type ''", "a i d guess"}, {"--type =", "a i d guess"}, {"--type = g", "guess"}, {"-u -", ""}, {"ftp://h", ""},
	} {
		script, want = script+"try ftpfetch "+tt[0]+"\n", want+tt[1]+"\n"
	}
	bash := exec.Command("bash", "--norc", "-eu")
	bash.Stdin = strings.NewReader(script)
	if got, err := bash.CombinedOutput(); err != nil || string(got) != want {
		t.Errorf("got %s%v, want %s", got, err, want)
	}
}
