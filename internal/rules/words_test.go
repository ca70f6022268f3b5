package rules_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// words are those that this project does not use: what to write instead, and the
// end of the paths of the files where they are looked for.
var words = []struct{ word, instead, files string }{
	{`\bin (the )?clear\b|\bclear text\b|InClear\(`, "unencrypted", ""},
	{`(?i)\b(continu(ed|es|ing)|go(es|ing)? on) from\b|\bbe continued\b`, "resume", ""},
	{`(?i)\bfor (an)?other reasons? than\b|\bfor reasons other than\b`, "for a reason other than", ""},
	{`\bahead of (it|them|the|a|that)\b|\bbehind (it|them|the|a|an|its) `, "before, after", ""},
	{`(?i)\boctets?\b`, "bytes", ".md"},
}

// TestWords looks for them in the documents, the code and the scripts.
func TestWords(t *testing.T) {
	t.Chdir(root)
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		switch filepath.Ext(path) {
		default:
			return err
		case ".go", ".md", ".txtar":
		}
		for _, w := range words {
			if !strings.HasSuffix(path, w.files) || strings.HasSuffix(path, "rfc1738.md") || strings.HasSuffix(path, "words_test.go") {
				continue // the words of the RFC
			}
			for _, found := range regexp.MustCompile(w.word).FindAllString(read(t, path), -1) {
				t.Errorf("%s: %q: write %q", path, found, w.instead)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
