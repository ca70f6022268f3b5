package rules_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// figure is a cell of a table in a document. The table is the first after a line that begins with heading, a regular
// expression; the row begins with row.
type figure struct{ document, heading, row, column string }

// figures are the rows of README.md's comparison, each with a regular expression for its first words, and what its
// numbers are, in order.
var figures = []struct {
	row  string
	from []figure
}{
	{`of 15 test URLs`, cells("docs/exactness.md", "<!-- made by", "", "| as RFC 1738 says |", "ftpfetch", "curl", "wget", "lftp", "aria2c")},
	{`round trips to the last byte`, latency(`### 1\. One file`, "ftpfetch", "curl", "wget", "lftp", "lftp, sync-mode off", "aria2")},
	{`the same with a password`, latency(`### 2\. The same`, "ftpfetch", "curl", "wget", "lftp", "lftp, sync-mode off", "aria2")},
	{`the same over TLS 1\.3`, latency(`### 3\. The same`, "ftpfetch", "curl", "wget", "lftp", "lftp, sync-mode off")},
	{`\d+ small files`, cells("docs/performance.md", `### 1\. \d+ files of`, "round trips a file", "| 1 | ", "ftpfetch", "curl", "wget", "lftp mirror", "aria2")},
	{`files lost of \d+`, cells("docs/performance.md", `### 5\. \d+ files of .* from vsftpd`, "seconds", "| 8 | ", "ftpfetch", "curl -Z", "lftp queue", "aria2")},
	{`processor time of a file`, large(`### 1\. A file of`, "processor time: ratio", "ftpfetch", "curl", "wget", "lftp", "aria2")},
	{`processor time over TLS`, large(`### 2\. The same over TLS 1\.3;`, "processor time: ratio", "ftpfetch", "curl", "wget", "lftp")},
	{`peak memory`, large(`### 1\. A file of`, "peak memory: ratio", "ftpfetch", "curl", "wget", "lftp", "aria2")},
}

func latency(heading string, clients ...string) []figure {
	return cells("docs/performance.md", heading, "to the last byte: median", "| ", clients...)
}

func large(heading, column string, clients ...string) []figure {
	return cells("docs/performance.md", heading, column, "| ", clients...)
}

// cells returns a figure for each client. Without a column, the client's name is the column and start is the row.
func cells(document, heading, column, start string, clients ...string) (all []figure) {
	for _, c := range clients {
		f := figure{document, heading, start + c + " |", column}
		if column == "" {
			f.row, f.column = start, c
		}
		all = append(all, f)
	}
	return all
}

var number = regexp.MustCompile(`\b\d+(\.\d+)?\b`)

// TestReadmeFiguresAreMeasured checks that the numbers in README.md's comparison are those of the tables that
// internal/bench makes.
func TestReadmeFiguresAreMeasured(t *testing.T) {
	t.Chdir(root)
	for _, f := range figures {
		line := lineAfter(read(t, "README.md"), `\| `+f.row, "")
		_, values, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if got, want := number.FindAllString(values, -1), measured(t, f.from); !slices.Equal(got, want) {
			t.Errorf("README.md, %q: got the numbers %q, but %q were measured", f.row, got, want)
		}
	}
}

// measured returns the first number of each cell; "0" for a time where other cells have losses, because none were.
func measured(t *testing.T, from []figure) (numbers []string) {
	t.Helper()
	for _, f := range from {
		text := read(t, f.document)
		columns, row := lineAfter(text, f.heading, "| "), lineAfter(text, f.heading, f.row)
		i := slices.IndexFunc(strings.Split(columns, "|"), func(c string) bool { return strings.TrimSpace(c) == f.column })
		values := strings.Split(row, "|")
		if i < 0 || i >= len(values) {
			t.Errorf("%s has no %q for %q after %q", f.document, f.column, f.row, f.heading)
			continue
		}
		value := number.FindString(values[i])
		if f.column == "seconds" && !strings.Contains(values[i], "lost") {
			value = "0"
		}
		numbers = append(numbers, value)
	}
	return numbers
}

// lineAfter returns the first line that begins with start at or after the first line that heading matches.
func lineAfter(text, heading, start string) string {
	at := regexp.MustCompile(`(?m)^` + heading).FindStringIndex(text)
	if at == nil {
		return ""
	}
	for line := range strings.Lines(text[at[0]:]) {
		if strings.HasPrefix(line, start) {
			return line
		}
	}
	return ""
}
