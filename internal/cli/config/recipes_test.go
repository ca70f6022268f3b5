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

// recipeCommand is a call of the command in a shell, a Makefile, a unit, a YAML
// list or an indented example: up to an operator of the shell, a comment or the
// end of the line. A line may go on after "\" and, in YAML, after ",".
var recipeCommand = regexp.MustCompile(`\bftpfetch[ ,]((?:,\n|\\\n|[^\n\\|&;<>#` + "`" + `])*)`)

// recipeSum is a digest that a recipe fills in.
var recipeSum = regexp.MustCompile(`md5:\$?\{[\w.]+\}`)

// recipeShare is the number of a job of an array, counted from 1.
var recipeShare = regexp.MustCompile(`\$SLURM_ARRAY_TASK_ID|\$\(\(JOB_COMPLETION_INDEX \+ 1\)\)`)

// TestRecipes checks that the command accepts its flags and their values as the
// recipes write them, and that recipes.md links every file.
func TestRecipes(t *testing.T) {
	about := readRecipe(t, recipes+".md")
	tests := []string{"Dockerfile", "Makefile", "Snakefile", "crontab", "ena.sh", "ftpfetch-mirror.service", "job.yaml", "main.nf", "parallel.sh", "slurm.sbatch"}
	for _, name := range tests {
		t.Run(name, func(t *testing.T) { checkRecipe(t, readRecipe(t, filepath.Join(recipes, name))) })
	}
	files, err := os.ReadDir(recipes)
	if err != nil || len(files) != len(tests)+1 { // the timer has no command
		t.Errorf("got %d files (%v), want the %d with commands and the timer", len(files), err, len(tests))
	}
	for _, f := range files {
		if !strings.Contains(about, "(recipes/"+f.Name()+")") {
			t.Errorf("recipes.md does not link %s", f.Name())
		}
	}
}

// checkRecipe parses the command lines in a recipe.
func checkRecipe(t *testing.T, text string) {
	found := 0
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
	if found == 0 {
		t.Error("there is no command in it")
	}
}

func readRecipe(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
