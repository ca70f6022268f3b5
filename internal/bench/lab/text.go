//go:build linux

package lab

import "strings"

// Wanted reports whether list, comma separated, has name or is empty.
func Wanted(list, name string) bool {
	if list == "" {
		return true
	}
	for item := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(item) == name {
			return true
		}
	}
	return false
}

// Cell returns err's text in a form that fits into a Markdown table.
func Cell(err error) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(err.Error()), " "), "|", `\|`)
}

// ShellLine joins words, quoted for a shell. If there are many, it shows the first
// ones and the last.
func ShellLine(words []string) string {
	var quoted []string
	for _, w := range words {
		if strings.ContainsAny(w, " ;'&") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		quoted = append(quoted, w)
	}
	const most = 16
	if len(quoted) > most {
		quoted = append(append(quoted[:6:6], "..."), quoted[len(quoted)-1])
	}
	return strings.Join(quoted, " ")
}
