package rules_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What no file of these directories may say, and no file below them.
func TestForbidden(t *testing.T) {
	t.Chdir(root)
	all := []string{"ftpexec", "download", "internal/cli", "internal/gateway", "internal/netrc", "internal/proxy"}
	for _, rule := range []struct {
		why   string
		dirs  []string
		tests bool // in tests, or else in what is no test
		words *regexp.Regexp
	}{
		{"compile a regular expression when it is first used, not when the command starts", all, false, regexp.MustCompile(`= regexp\.MustCompile\(`)},
		{"the client has no command that uploads, renames or deletes (RFC 959, RFC 3659, and the methods of jlaffaye/ftp)", []string{"ftpexec"}, false,
			regexp.MustCompile(`"(STOR|STOU|APPE|RNFR|RNTO|DELE|RMD|XRMD|MKD|XMKD|SITE|ALLO|MFMT|MFCT|MFF)\b|conn\.(Stor|StorFrom|Append|Rename|Delete|RemoveDir|RemoveDirRecur|MakeDir)\(`)},
		{"tests neither sleep nor skip anything", []string{"."}, true, regexp.MustCompile(`\btime\.Sleep\(|\bt\.(Skip|Skipf|SkipNow)\(`)},
	} {
		for _, dir := range rule.dirs {
			files := 0
			err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") != rule.tests {
					return err
				}
				files++
				if found := rule.words.FindString(read(t, path)); found != "" {
					t.Errorf("%s: %s; %s", path, found, rule.why)
				}
				return nil
			})
			if err != nil || files == 0 {
				t.Errorf("%s: %d files, %v", dir, files, err)
			}
		}
	}
}
