package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/internal/testkit/must"
)

// TestHelpFits checks that the help fits 80 columns, and that the short help fits 30 lines and describes its flags as
// the full help does.
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

// TestFormats checks that docs/manifests.md describes the forms of lists, in the order in which they are recognized.
func TestFormats(t *testing.T) {
	doc := string(must.Get(os.ReadFile("../../../../docs/manifests.md"))(t))
	_, rows, _ := strings.Cut(doc, "| name | the list begins with |\n|---|---|\n")
	for _, word := range manifest.Formats() {
		row := ""
		row, rows, _ = strings.Cut(rows, "\n")
		if !strings.HasPrefix(row, "| `"+word+"` |") {
			t.Errorf("the first table of docs/manifests.md has %q where `forms` of package manifest has %s", row, word)
		}
	}
}

// TestBashCompletion has bash complete the last word of a line.
func TestBashCompletion(t *testing.T) {
	script, want := Text("bash")+`
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _ftpfetch; echo "${COMPREPLY[*]}"; }
`, ""
	for _, tt := range [][2]string{
		{"--progr", "--progress"}, {"--type ''", "a i d guess"}, {"--help =", "man bash zsh fish"}, {"--help = m", "man"}, {"--help ''", ""}, {"--ip ''", "4 6"}, {"--type =", "a i d guess"}, {"--type = g", "guess"}, {"-u -", ""}, {"ftp://h", ""},
	} {
		script, want = script+"try ftpfetch "+tt[0]+"\n", want+tt[1]+"\n"
	}
	bash := exec.Command("bash", "--norc", "-eu")
	bash.Stdin = strings.NewReader(script)
	if got, err := bash.CombinedOutput(); err != nil || string(got) != want {
		t.Errorf("got %s%v, want %s", got, err, want)
	}
}

// TestBashNames has bash complete URLs. The command that offers names gets the line on standard input, never in an
// argument.
func TestBashNames(t *testing.T) {
	script := Text("bash") + `
exec 3>&1
ftpfetch() { line=$(cat); echo "$* [$line]" >&3; printf '%s\n' "${line##* }one" "${line##* }two/"; }
try() { COMP_LINE=$1 COMP_POINT=${#1}; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _ftpfetch; echo "${COMPREPLY[*]}"; }
try 'ftpfetch -u me ftp://me:secret@h/d/' ftpfetch -u me ftp : '//me:secret' @h/d/
try 'ftpfetch ftp://h/d/x' ftpfetch ftp://h/d/x
try 'ftpfetch ftp://h' ftpfetch ftp : //h
`
	want := `--complete [ftpfetch -u me ftp://me:secret@h/d/]
@h/d/one @h/d/two/
--complete [ftpfetch ftp://h/d/x]
ftp://h/d/xone ftp://h/d/xtwo/

`
	bash := exec.Command("bash", "--norc", "-eu")
	bash.Stdin = strings.NewReader(script)
	if got, err := bash.CombinedOutput(); err != nil || string(got) != want {
		t.Errorf("got %s%v, want %s", got, err, want)
	}
}

// recipes is the directory of the recipes that docs/recipes.md explains.
const recipes = "../../../../docs/recipes"

// recipeCommand is a call of ftpfetch in a shell script, a Makefile, a unit, a YAML list or an indented example. It
// ends at a shell operator, a comment or the end of the line. It may continue after "\" and, in YAML, after ",".
var recipeCommand = regexp.MustCompile(`\bftpfetch[ ,]((?:,\n|\\\n|[^\n\\|&;<>#` + "`" + `])*)`)

// recipeSum is a digest that a recipe fills in.
var recipeSum = regexp.MustCompile(`md5:\$?\{[\w.]+\}`)

// recipeShare is the number of a job of an array, counted from 1.
var recipeShare = regexp.MustCompile(`\$SLURM_ARRAY_TASK_ID|\$\(\(JOB_COMPLETION_INDEX \+ 1\)\)`)

// elsewhere matches the names of recipes that do not call ftpfetch, but a unit or ftpfetch-fleet.
var elsewhere = regexp.MustCompile(`\.timer$|^fleet`)

// TestRecipes checks that the command accepts its flags and their values as the recipes write them, and that recipes.md
// links every file.
func TestRecipes(t *testing.T) {
	about, err := os.ReadFile(recipes + ".md")
	files, rerr := os.ReadDir(recipes)
	if err != nil || rerr != nil || len(files) < 10 {
		t.Fatalf("%v, %v, %d files", err, rerr, len(files))
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(recipes, f.Name()))
		if n := check(t, string(text)); err != nil || (n == 0) != elsewhere.MatchString(f.Name()) || !strings.Contains(string(about), "(recipes/"+f.Name()+")") {
			t.Errorf("%s: %v, or it has no command (%d), or recipes.md does not link it", f.Name(), err, n)
		}
	}
}

// unitKeys are the settings that the units in the recipes may have, by sections.
var unitKeys = map[string]string{
	"Unit":    "Description Wants After StartLimitIntervalSec StartLimitBurst",
	"Service": "Type DynamicUser StateDirectory WorkingDirectory ExecStart SuccessExitStatus Restart RestartSec NoNewPrivileges PrivateDevices ProtectHome",
	"Timer":   "OnCalendar RandomizedDelaySec Persistent",
	"Install": "WantedBy",
}

// TestUnits checks the units of systemd in the recipes: each setting is in the section where systemd looks for it, a timer
// starts the service of its name at a time of the day, and that service runs once and knows the code of a second mirror.
func TestUnits(t *testing.T) {
	timers := must.Get(filepath.Glob(recipes + "/*.timer"))(t)
	if len(timers) == 0 {
		t.Fatal("there is no timer")
	}
	for _, name := range timers {
		timer := unit(t, name)
		service := unit(t, strings.TrimSuffix(name, ".timer")+".service")
		for setting, pattern := range map[string]string{
			timer["Timer.OnCalendar"]:            `^\*-\*-\* [0-2]\d:[0-5]\d:[0-5]\d$`,
			timer["Timer.Persistent"]:            `^yes$`,
			timer["Install.WantedBy"]:            `^timers\.target$`,
			service["Service.Type"]:              `^oneshot$`,
			service["Service.ExecStart"]:         `^/usr/local/bin/ftpfetch -q -r -N -d `,
			service["Service.SuccessExitStatus"]: `^75$`,
		} {
			if !regexp.MustCompile(pattern).MatchString(setting) {
				t.Errorf("%s: %q does not match %s", name, setting, pattern)
			}
		}
	}
}

// unit returns the settings of a unit of systemd, with the names of their sections.
func unit(t *testing.T, name string) map[string]string {
	section := ""
	all := make(map[string]string)
	for line := range strings.Lines(string(must.Get(os.ReadFile(name))(t))) {
		line = strings.TrimSpace(line)
		key, value, set := strings.Cut(line, "=")
		switch {
		case line == "", strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
		case !set || !slices.Contains(strings.Fields(unitKeys[section]), key):
			t.Errorf("%s: %s is nothing that [%s] has", name, line, section)
		default:
			all[section+"."+key] = value
		}
	}
	return all
}

// check parses the command lines in a recipe, and returns how many there are.
func check(t *testing.T, text string) (found int) {
	for _, match := range recipeCommand.FindAllStringSubmatch(text, -1) {
		line := recipeShare.ReplaceAllString(match[1], "8")
		line = recipeSum.ReplaceAllString(strings.ReplaceAll(line, "\\\n", " "), "md5:"+strings.Repeat("0", 32))
		args := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n,[]'\"", r) })
		if len(args) == 0 || !strings.HasPrefix(args[0], "-") {
			continue // a name, not a call
		}
		found++
		if _, err := Parse(args); err != nil {
			t.Errorf("ftpfetch %s: %v", strings.Join(args, " "), err)
		}
	}
	return found
}
