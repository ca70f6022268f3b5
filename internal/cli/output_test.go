package cli_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/cli"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/testserver"
)

// TestEmptyOutput redirects standard output, as for curl, and looks at what a terminal on standard error says.
func TestEmptyOutput(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/f": "text\n", "/d/g": "text\n"}})
	const lone, many = "saved as f; standard output is empty (-o - writes there)\n", "saved in ./; standard output is empty\n"
	null := must.Get(os.OpenFile(os.DevNull, os.O_WRONLY, 0))(t)
	defer null.Close()
	for _, tt := range []struct {
		args   string
		stdout io.Writer // nil: a pipe
		said   string    // about the output
	}{
		{"Uf", nil, lone}, {"-o x/../f Uf", nil, strings.Replace(lone, "f;", "x/../f;", 1)}, {"Ug Uf", nil, lone}, {"-j 2 Ug Uf", nil, many}, {"-r -d . U", nil, many},
		{"Uf", null, ""}, {"Uf", new(screen), ""}, {"-o - Uf", nil, ""}, {"U", nil, ""}, {"-I Uf", nil, ""}, {"-q Uf", nil, ""}, {"Unone", nil, ""},
		{"-j 2 --report - Ug Uf", nil, ""},
	} {
		t.Chdir(t.TempDir())
		must.Do(t, os.Mkdir("x", 0o700))
		var said screen
		if tt.stdout == nil {
			tt.stdout = new(bytes.Buffer)
		}
		cli.Run(t.Context(), strings.Fields(strings.ReplaceAll(tt.args, "U", s.URL("/d/"))), cli.IO{Out: tt.stdout, Err: &said})
		if text := said.String(); !strings.HasSuffix(text, tt.said) || tt.said == "" && strings.Contains(text, "standard output") {
			t.Errorf("%s: %q, want %q", tt.args, text, tt.said)
		}
		said = screen{}
		if code, _, said := run(t, strings.Fields(strings.ReplaceAll("--overwrite "+tt.args, "U", s.URL("/d/")))...); strings.Contains(said, "standard output") {
			t.Errorf("%s, without a terminal: exit %d, %q", tt.args, code, said)
		}
	}
}

// TestBinaryOnTerminal checks that no binary file comes to a terminal, and that all else does.
func TestBinaryOnTerminal(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/bin": "\x7fELF\x00", "/text": "caf\xe9\n", "/d/f": "", "/empty": ""}})
	for path, want := range map[string]string{"/bin": "", "/text": "caf\xe9\n", "/empty": "", "/d/": "f\n", "/bin /text": ""} {
		var out, said screen
		args := []string{"-o", "-"}
		for name := range strings.FieldsSeq(path) {
			args = append(args, s.URL(name))
		}
		code := cli.Run(t.Context(), args, cli.IO{Out: &out, Err: &said})
		if path == "/bin /text" {
			want = "caf\xe9\n"
		}
		refused := strings.Contains(said.String(), "standard output: cannot be written: it is a terminal, and the file is no text (-o FILE saves it, -o /dev/tty shows it)")
		if out.String() != want || refused != strings.Contains(path, "bin") || (code == 23) != refused {
			t.Errorf("%s: exit %d, %q, %q", path, code, out.String(), said.String())
		}
	}
	if code, out, said := run(t, "-o", "-", s.URL("/bin")); code != 0 || out != "\x7fELF\x00" {
		t.Errorf("into a pipe: exit %d, %q, %s", code, out, said)
	}
}
