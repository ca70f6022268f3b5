package localfile

import "testing"

func TestUnusable(t *testing.T) {
	tests := []struct {
		name string
		unix bool
		win  bool
	}{
		{"motd", true, true},
		{"a.tar.gz", true, true},
		{"-rf", true, true},
		{"name with space", true, true},
		{"...", true, false},
		{"..x", true, true},
		{"caf\xe9", true, true},
		{"\x01\x1b[2J", true, false},
		{`a\b`, true, false},
		{"a:b", true, false},
		{"what?", true, false},
		{"x.", true, false},
		{"x ", true, false},
		{"CON", true, false},
		{"nul.txt", true, false},
		{"Com1", true, false},
		{"lpt9.log", true, false},
		{"com¹", true, false},
		{"aux .c", true, false},
		{"conin$", true, false},
		{"console", true, true},
		{"com10", true, true},
		{"", false, false},
		{".", false, false},
		{"..", false, false},
		{"/etc/passwd", false, false},
		{"a/b", false, false},
		{"../x", false, false},
		{"a\x00b", false, false},
		{"a.part", true, true},
		{"a.part.json", false, false},
		{"A.PART.JSON", false, false},
		{"part.json", true, true},
	}
	for _, tt := range tests {
		for goos, want := range map[string]bool{"linux": tt.unix, "windows": tt.win} {
			if why := unusable(tt.name, goos); (why == "") != want {
				t.Errorf("unusable(%q, %s) = %q, want usable %v", tt.name, goos, why, want)
			}
		}
	}
}

func TestKey(t *testing.T) {
	for goos, want := range map[string]bool{"linux": false, "windows": true, "darwin": true} {
		if got := key("A/\u00c9.Gz", goos) == key("a/\u00e9.gz", goos); got != want {
			t.Errorf("%s: the same file %v, want %v", goos, got, want)
		}
	}
	if Key("a") == Key("b") {
		t.Error("Key does not tell files apart")
	}
}
