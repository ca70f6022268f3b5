package rules_test

import (
	"path/filepath"
	"regexp"
	"testing"
)

// changing matches a command of RFC 959 or RFC 3659 that changes something on the server, or the method of jlaffaye/ftp
// that sends it.
var changing = regexp.MustCompile(`"(STOR|STOU|APPE|RNFR|RNTO|DELE|RMD|XRMD|MKD|XMKD|SITE|ALLO|MFMT|MFCT|MFF)\b|conn\.(Stor|StorFrom|Append|Rename|Delete|RemoveDir|RemoveDirRecur|MakeDir)\(`)

// TestClientOnlyRetrieves checks that the client has no command that uploads, renames or deletes.
func TestClientOnlyRetrieves(t *testing.T) {
	t.Chdir(root)
	for _, dir := range []string{"ftpexec", "ftpexec/internal/wire"} {
		files, err := filepath.Glob(filepath.Join(dir, "*[a-z].go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s (%v)", dir, err)
		}
		for _, file := range files {
			if found := changing.FindString(read(t, file)); found != "" && !regexp.MustCompile(`_test\.go$`).MatchString(file) {
				t.Errorf("%s has %s", file, found)
			}
		}
	}
}
