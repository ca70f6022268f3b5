package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// recipes is where the recipes are; recipes.md beside it explains them.
const recipes = "../../../docs/recipes"

// recipeCommand is a call of the command in a shell, a Makefile, a unit, a YAML list or an indented example: up to an
// operator of the shell, a comment or the end of the line. A line may go on after "\" and, in YAML, after ",".
var recipeCommand = regexp.MustCompile(`\bftpfetch[ ,]((?:,\n|\\\n|[^\n\\|&;<>#` + "`" + `])*)`)

// recipeSum is a digest that a recipe fills in.
var recipeSum = regexp.MustCompile(`md5:\$?\{[\w.]+\}`)

// recipeShare is the number of a job of an array, counted from 1.
var recipeShare = regexp.MustCompile(`\$SLURM_ARRAY_TASK_ID|\$\(\(JOB_COMPLETION_INDEX \+ 1\)\)`)

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
		if n := check(t, string(text)); err != nil || (n == 0) != strings.HasSuffix(f.Name(), ".timer") || !strings.Contains(string(about), "(recipes/"+f.Name()+")") {
			t.Errorf("%s: %v, or it has no command (%d), or recipes.md does not link it", f.Name(), err, n)
		}
	}
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
