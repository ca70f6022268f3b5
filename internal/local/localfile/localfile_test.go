package localfile

import "testing"

func TestUnusable(t *testing.T) {
	tests := []struct {
		name string
		unix bool
		win  bool
	}{
		{"motd", true, true}, {"a.tar.gz", true, true}, {"-rf", true, true}, {"name with space", true, true}, {"...", true, false},
		{"..x", true, true}, {"caf\xe9", true, true}, {"\x01\x1b[2J", true, false}, {`a\b`, true, false}, {"a:b", true, false},
		{"what?", true, false}, {"x.", true, false}, {"x ", true, false}, {"CON", true, false}, {"nul.txt", true, false},
		{"Com1", true, false}, {"lpt9.log", true, false}, {"com¹", true, false}, {"aux .c", true, false}, {"conin$", true, false},
		{"console", true, true}, {"com10", true, true}, {"", false, false}, {".", false, false}, {"..", false, false},
		{"/etc/passwd", false, false}, {"a/b", false, false}, {"../x", false, false}, {"a\x00b", false, false}, {"a.part", true, true},
		{"a.ftpfetch.json", false, false}, {"A.FTPFETCH.PART", false, false}, {"a.part.json", true, true}, {"ftpfetch.part", true, true},
		{".ftpfetch-trash", false, false}, {".FTPFETCH-Trash", false, false}, {".ftpfetch-", false, false}, {".ftpfetch", true, true}, {"ftpfetch-trash", true, true},
		{"x.ftpfetch.bad. .", false, false}, {"x.ftpfetch.\u200dpart", false, false}, {"ftpfet~1", false, false}, {"ftpfetc~1", true, true}, {"x.ftpfetch.parts", true, true},
	}
	defer func(is string) { goos = is }(goos)
	for _, tt := range tests {
		for system, want := range map[string]bool{"linux": tt.unix, "windows": tt.win} {
			goos = system
			if why := Unusable(tt.name); (why == "") != want {
				t.Errorf("%s: Unusable(%q) = %q, want usable %v", goos, tt.name, why, want)
			}
		}
	}
}
