package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const comingFromFile = "../../docs/coming-from.md"

// TestComingFrom checks that docs/coming-from.md is what the tables say.
func TestComingFrom(t *testing.T) {
	want := comingFrom()
	if *update {
		if err := os.WriteFile(comingFromFile, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(comingFromFile)
	if err != nil || string(got) != want {
		t.Errorf("docs/coming-from.md is not what the tables say (%v): go test ./internal/cli -run TestComingFrom -update", err)
	}
}

const comingFromHead = `# Coming from wget, curl, aria2 or lftp

This page is made from the tables by which the command recognizes flags of other programs (internal/cli/habits_*.go). A flag that
ftpfetch does not have, or that means something else here, ends the run before anything is sent, with one line that says what to write.

What differs from all four: a file that exists is an error (` + "`--overwrite`, `--no-clobber` or `-N`" + ` say what to do), a file that an earlier run
left unfinished is resumed without a flag, and a URL without a user means the anonymous login (` + "`-n`" + ` takes the user from the netrc file).
`

// comingFrom returns the page.
func comingFrom() string {
	var b strings.Builder
	b.WriteString(comingFromHead)
	for _, p := range programs[:4] {
		fmt.Fprintf(&b, "\n## %s\n\n| instead of | write |\n|---|---|\n", p.name)
		for _, c := range newcomers {
			if c.program == p.name {
				fmt.Fprintf(&b, "| `%s` | `ftpfetch %s` |\n", strings.ReplaceAll(c.typed, "|", `\|`), c.want)
			}
		}
		b.WriteString("\n| flag | here | |\n|---|---|---|\n")
		for _, h := range p.habits {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", code(h.flags), here(h.write), strings.ReplaceAll(h.note, "|", `\|`))
		}
	}
	return b.String()
}

// here returns what the page shows for habit.write.
func here(write string) string {
	switch write {
	case needless:
		return "leave it out"
	case lacking:
		return "no"
	}
	return "`" + write + "`"
}

func code(flags string) string { return "`" + strings.ReplaceAll(flags, ", ", "`, `") + "`" }
