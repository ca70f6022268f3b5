package rules_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// goCommand finds a call of the go command or of the check, indented or between
// backquotes.
var goCommand = regexp.MustCompile("(?m)(?:^    |`|&& )((?:go (?:test|run|install|doc)|make|\\.ci/run)(?: [^`\n#&]*)?)")

// TestDocumentsGiveCommandsThatWork checks the commands about the repository that
// the documents give: their packages, tests, flags, targets and steps exist. Those
// of ftpfetch itself are run by internal/cli.TestDocumentedCommands.
func TestDocumentsGiveCommandsThatWork(t *testing.T) {
	t.Chdir(root)
	found := 0
	for _, document := range documents(t) {
		if document == "docs/recipes.md" {
			continue // its make is that of a recipe
		}
		for _, match := range goCommand.FindAllStringSubmatch(read(t, document), -1) {
			found++
			if err := checkCommand(t, strings.Fields(strings.ReplaceAll(match[1], "'", ""))); err != nil {
				t.Errorf("%s: %s: %v", document, match[1], err)
			}
		}
	}
	if found < 20 {
		t.Errorf("found %d commands", found)
	}
}

// TestCheckCommand checks that the rule notices what has gone.
func TestCheckCommand(t *testing.T) {
	t.Chdir(root)
	for _, line := range []string{
		"go test ./gone", "go test ./download -run TestGone", "go test ./internal/cli -run TestScript/gone", "go test ./download -bench Gone", "go test ./download -gone.every=1",
		"go test -fuzz FuzzGone ./urlparse", "go run ./urlparse", "go doc ./gone", "make gone", ".ci/run gone", "go test ./urlparse -update",
	} {
		if checkCommand(t, strings.Fields(line)) == nil {
			t.Errorf("%s: it passes", line)
		}
	}
}

// checkCommand returns what is wrong with a command.
func checkCommand(t *testing.T, words []string) error {
	switch words[0] {
	case "make":
		return each(words[1:], func(target string) bool {
			return regexp.MustCompile("(?m)^([a-z ]+ )?" + target + "( [a-z ]+)?:").MatchString(read(t, "Makefile"))
		})
	case ".ci/run":
		return each(words[1:], func(step string) bool {
			return regexp.MustCompile(`(?m)^steps=.*\bsteps=\(.*\b` + step + `\b|; then steps=\(.*\b` + step + `\b`).MatchString(read(t, ".ci/run"))
		})
	}
	return checkGo(t, words[1], words[2:])
}

// each returns an error about the first word that does not exist.
func each(words []string, exists func(string) bool) error {
	for _, word := range words {
		if !exists(word) {
			return fmt.Errorf("there is no %s", word)
		}
	}
	return nil
}

// kinds are the functions that a flag of go test chooses from.
var kinds = map[string]*regexp.Regexp{
	"-run": regexp.MustCompile("^(Test|Example|Fuzz)"), "-bench": regexp.MustCompile("^Benchmark"), "-fuzz": regexp.MustCompile("^Fuzz"),
}

// checkGo returns what is wrong with the arguments of a go command.
func checkGo(t *testing.T, verb string, args []string) error {
	dirs, err := directories(args)
	if err != nil || verb != "test" && verb != "run" {
		return err
	}
	if verb == "run" {
		return each(dirs, func(dir string) bool { return anyFile(t, dir, `(?m)^package main$`) })
	}
	for i, arg := range args {
		name, value, inline := strings.Cut(arg, "=")
		if !inline && i+1 < len(args) {
			value = args[i+1]
		}
		switch {
		case kinds[name] != nil:
			if !anyFunc(t, dirs, kinds[name], value) {
				return fmt.Errorf("no test matches %s", value)
			}
		case strings.Contains(name, ".") && name[0] == '-' || name == "-update":
			declared := func(dir string) bool {
				return anyFile(t, dir, `flag\.[A-Z][a-z0-9]+\((&[a-z]+, )?"`+regexp.QuoteMeta(name[1:])+`"`)
			}
			if !slices.ContainsFunc(dirs, declared) {
				return fmt.Errorf("there is no flag %s", name)
			}
		}
	}
	return nil
}

// directories returns the directories that the arguments of a go command name.
func directories(args []string) (dirs []string, err error) {
	for _, arg := range args {
		path, all := strings.CutSuffix(arg, "/...")
		switch {
		case !strings.HasPrefix(arg, "./"):
			continue
		case !all:
			dirs = append(dirs, path)
		}
		err = filepath.WalkDir(path, func(dir string, d os.DirEntry, err error) error {
			if all && err == nil && d.IsDir() {
				dirs = append(dirs, dir)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return dirs, nil
}

// anyFile reports whether a Go file of the directory matches.
func anyFile(t *testing.T, dir, pattern string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool { return regexp.MustCompile(pattern).MatchString(read(t, file)) })
}

// anyFunc reports whether a test function of this kind matches a pattern of the go
// command. One that matches none on purpose, such as ^$, does too. After a
// slash it names a script.
func anyFunc(t *testing.T, dirs []string, kind *regexp.Regexp, pattern string) bool {
	if strings.Trim(pattern, "^$-") == "" {
		return true
	}
	pattern, script, scripted := strings.Cut(pattern, "/")
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, scripts, script+".txtar")); scripted && err != nil {
			continue
		}
		for name := range testFuncs(t, dir) {
			if kind.MatchString(name) && regexp.MustCompile(pattern).MatchString(name) {
				return true
			}
		}
	}
	return false
}
