package config

import (
	stdflag "flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/docs"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/internal/testkit/must"
)

// TestFlagsAreEverywhere checks that the help and the man page name exactly the existing flags, with their letters and
// values.
func TestFlagsAreEverywhere(t *testing.T) {
	want := make(map[string]bool)
	for _, f := range flags() {
		want[f.letter+" "+f.name+" "+f.value] = true
		if usage(f) == "" {
			t.Errorf("the help says nothing of --%s", f.name)
		}
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

// less returns the elements of a that are not in b.
func less(a, b map[string]bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(a)), func(s string) bool { return b[s] })
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

var update = stdflag.Bool("update", false, "write the scripts of completion")

// TestCompletions checks that the scripts complete exactly the existing flags. With -update it writes the scripts.
func TestCompletions(t *testing.T) {
	all := ""
	for _, shell := range slices.Sorted(maps.Keys(shells)) {
		want := completion(t, shell)
		all += "--- " + shell + "\n" + want
		if !*update && Text(shell) != withForms(want) {
			t.Errorf("the completion of %s is old: go test ./cmd/internal/cli/config -run TestCompletions -update", shell)
		}
	}
	if *update {
		must.Do(t, os.WriteFile("completions.txt", []byte(all), 0o666))
	}
}

// shells says how each shell completes the value of a flag: one of some words (for which %s stands), a directory, a
// file or any text. In a script, LINES stands for what line returns for each flag, and FLAGS for all spellings of the
// flags.
var shells = map[string]struct {
	script, words, dir, file, any string
	line                          func(f *flag, names []string, usage, value string) string
}{
	"bash": {"", `COMPREPLY=($(compgen -W '%s' -- "$cur")); _ftpfetch_no_files; return`,
		`IFS=$'\n'; COMPREPLY=($(compgen -d -- "$cur")); _ftpfetch_no_files; return`, "return", "_ftpfetch_no_files; return", bashLine},
	"zsh": {"#compdef ftpfetch\n# Completion of ftpfetch for zsh: ftpfetch --help=zsh\n" + zshNames + "_arguments -s -S \\\nLINES\t'*:URL:_ftpfetch_names'\n",
		"(%s)", "_directories", "_files", " ", zshLine},
	"fish": {"# Completion of ftpfetch for fish: ftpfetch --help=fish\ncomplete -c ftpfetch -f\nLINES" + fishNames,
		" -x -a '%s'", " -x -a '(__fish_complete_directories)'", " -r -F", " -x", fishLine},
}

// zshNames and fishNames complete names on a server. They pass the line on standard input: it may hold a password,
// which an argument would show.
const (
	zshNames = `_ftpfetch_names() {
	local -a names
	names=(${(f)"$(print -rn -- "ftpfetch ${(j: :)words[2,CURRENT-1]} $PREFIX" | ftpfetch --complete 2>/dev/null)"})
	if (( $#names )); then
		compadd -Q -S '' -a names
	else
		_urls
	fi
}
`
	fishNames = `complete -c ftpfetch -n 'string match -q "*://*/*" -- (commandline -ct)' -a '(commandline -cp | ftpfetch --complete 2>/dev/null)'
`
)

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

// completion makes the script for a shell. The script for bash works with 3.2 or later. Where it offers nothing, "-o
// default" completes file names.
func completion(t *testing.T, shell string) string {
	c, all, lines := shells[shell], "", ""
	for _, f := range flags() {
		names := []string{"--" + f.name}
		if f.letter != "" {
			names = []string{"-" + f.letter, names[0]}
		}
		kind, value := f.value, c.any
		switch {
		case kind == "":
			value = ""
		case strings.Contains(kind, "|"): // ADDR is a placeholder, not one of the words
			value = fmt.Sprintf(c.words, strings.ReplaceAll(strings.TrimSuffix(kind, "|ADDR"), "|", " "))
		case kind == "FORM":
			value = fmt.Sprintf(c.words, "FORMS")
		case kind == "DIR":
			value = c.dir
		case kind == "FILE":
			value = c.file
		}
		all, lines = all+" "+strings.Join(names, " "), lines+c.line(f, names, usage(f), value)
	}
	if shell == "bash" {
		c.script = string(must.Get(os.ReadFile("testdata/completion.bash"))(t))
	}
	return strings.NewReplacer("LINES", lines, "FLAGS", all[1:]).Replace(c.script)
}

// usage returns the help text of a flag. Its lines after the first are indented.
func usage(f *flag) string {
	found := regexp.MustCompile(`(?m)^ +(?:-., )?--` + f.name + `\b.*?(?: {2,}|\n {9,})(.*(?:\n {9,}.*)*)`).FindStringSubmatch(helpText[strings.LastIndex(helpText, "---\n"):])
	return strings.Join(strings.Fields(append(found, "", "")[1]), " ")
}

func bashLine(f *flag, names []string, _, value string) string {
	if value == "" {
		return ""
	}
	if f.bare {
		value = fmt.Sprintf("if [[ $equals ]]; then %s; fi", value)
	}
	return fmt.Sprintf("\t%s) %s ;;\n", strings.Join(names, "|"), value)
}

func zshLine(f *flag, names []string, usage, value string) string {
	spelling := strings.Join(names, ",")
	usage = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "'", `'\''`).Replace(usage)
	if value != "" && f.bare {
		both := fmt.Sprintf("'(%s)'", strings.Join(names, " "))
		long := names[len(names)-1]
		return fmt.Sprintf("\t%s%s'[%s]' \\\n\t%s%s=-'[%s]::%s:%s' \\\n", both, names[0], usage, both, long, usage, f.value, value)
	}
	if value != "" {
		spelling = strings.Join(names, "+,") + "="
		value = ":" + strings.ReplaceAll(f.value, ":", `\:`) + ":" + value
	}
	if len(names) > 1 {
		spelling = fmt.Sprintf("'(%s)'{%s}", strings.Join(names, " "), spelling)
	}
	return fmt.Sprintf("\t%s'[%s]%s' \\\n", spelling, usage, value)
}

func fishLine(f *flag, names []string, usage, value string) string {
	short := ""
	if len(names) > 1 {
		short = " -s " + f.letter
	}
	if f.bare {
		value = strings.NewReplacer(" -x", "", " -r", "").Replace(value)
	}
	usage = strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(usage)
	return fmt.Sprintf("complete -c ftpfetch%s -l %s%s -d '%s'\n", short, f.name, value, usage)
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
