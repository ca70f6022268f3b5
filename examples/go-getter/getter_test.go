package ftpgetter

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	getter "github.com/hashicorp/go-getter/v2"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

const sum = "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03" // of "hello\n"
const wrong = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

// TestGet checks what go-getter saves for a source, in each of its modes.
func TestGet(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{
		"/pub/motd": "hello\n", "/pub/why?": "a question\n", "/pub/a/b": "below\n", "/pub/SHA256SUMS": strings.TrimPrefix(sum, "sha256:") + "  motd\n"}})
	tests := []struct {
		name, path string
		mode       getter.Mode
		file, want string // file in the destination; "" for the destination itself
		err        string
	}{
		{"file", "/pub/motd", getter.ModeFile, "", "hello\n", ""},
		{"forced", "/pub/motd", getter.ModeFile, "", "hello\n", ""},
		{"any, a file", "/pub/motd", getter.ModeAny, "motd", "hello\n", ""},
		{"any, a directory", "/pub/a/", getter.ModeAny, "b", "below\n", ""},
		{"any, a typecode", "/pub/a;type=d", getter.ModeAny, "b", "below\n", ""},
		{"directory", "/pub/", getter.ModeDir, filepath.Join("a", "b"), "below\n", ""},
		{"directory without a slash", "/pub", getter.ModeDir, filepath.Join("a", "b"), "below\n", ""},
		{"question mark", "/pub/why%3F", getter.ModeFile, "", "a question\n", ""},
		{"checksum", "/pub/motd?checksum=" + sum, getter.ModeFile, "", "hello\n", ""},
		{"from the root", "/%2Fpub/motd", getter.ModeFile, "", "hello\n", ""},
		{"wrong checksum", "/pub/motd?checksum=" + wrong, getter.ModeFile, "", "", "Checksums did not match"},
		{"missing", "/pub/gone", getter.ModeFile, "", "", "not found"},
		{"missing directory", "/gone/", getter.ModeDir, "", "", "cannot enter gone"},
		{"unencoded question mark", "/pub/motd?old", getter.ModeFile, "", "", "write %3F"},
		{"parameters and a question mark", "/pub/motd?old&checksum=" + sum, getter.ModeFile, "", "", "write %3F"},
		{"directory with a question mark", "/pub?old/", getter.ModeDir, "", "", "write %3F"},
		{"malformed", "/pub/a%0D%0Ab", getter.ModeFile, "", "", "carriage return"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			source := s.URL(tt.path)
			if tt.name == "forced" {
				source = "ftp::" + source
			}
			dst := filepath.Join(t.TempDir(), "dst")
			c := ftpexec.Client{MaxIdle: -1}
			client := getter.Client{Getters: []getter.Getter{&Getter{&c}}}
			_, err := client.Get(t.Context(), &getter.Request{Src: source, Dst: dst, GetMode: tt.mode})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got %v, want %s", err, tt.err)
				}
				return
			}
			got, readErr := os.ReadFile(filepath.Join(dst, tt.file))
			if err != nil || string(got) != tt.want {
				t.Errorf("got %q, %v, %v; want %q", got, err, readErr, tt.want)
			}
		})
	}
}

// TestErrors checks that the errors of a Getter match the usual causes.
func TestErrors(t *testing.T) {
	s := testserver.New(t, nil)
	c := ftpexec.Client{MaxIdle: -1}
	client := getter.Client{Getters: []getter.Getter{&Getter{&c}}}
	get := func(ctx context.Context, source string) error {
		_, err := client.Get(ctx, &getter.Request{Src: source, Dst: filepath.Join(t.TempDir(), "x"), GetMode: getter.ModeFile})
		return err
	}
	if err := get(t.Context(), s.URL("/gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := get(ctx, s.URL("/gone")); !errors.Is(err, context.Canceled) {
		t.Errorf("after Ctrl-C: %v", err)
	}
}

func TestDetect(t *testing.T) {
	for source, want := range map[string]bool{"ftp://h/x": true, "FTPES://h/x": true, "ftps://h/x": true, "http://h/x": false, "h/x": false, "sftp://h/x": false} {
		if got, err := new(Getter).Detect(&getter.Request{Src: source}); got != want || err != nil {
			t.Errorf("%s: %v, %v", source, got, err)
		}
	}
	if got, _ := new(Getter).Detect(&getter.Request{Src: "ftp://h/x", Forced: "git"}); got {
		t.Error("git:: is taken")
	}
}

// FuzzParse checks that a URL stays the same through net/url, if net/url accepts it and it has no query.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"ftp://h/a%2Fb/c;type=i", "ftp://u:p%3A@h:2121//x", "ftp://[::1]/%3F%23", "ftp://h/~a%7E", "ftp://h", "ftp://@h/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, err := urlparse.Parse(text)
		from, netErr := url.Parse(text)
		if err != nil || netErr != nil || strings.Contains(text, "?") {
			return
		}
		if got, err := parse(from); err != nil || got.String() != want.String() {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, want)
		}
	})
}
