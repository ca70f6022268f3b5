package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/cli"
	"example.com/ftpfetch/testserver"
)

// TestStepsAndHints checks the exit code and the hint for replies that end a
// step.
func TestStepsAndHints(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	long := strings.Repeat("x", 60<<10)
	tests := []struct {
		path, verb, reply string
		code              int
		says              string
	}{
		// A code that makes no sense ends its step.
		{"/a/f", "USER", "114 x", 67, "USER: login refused: reply makes no sense: server says 114 x\n"},
		{"/a/f", "PASS", "314 x", 67, "PASS: login refused: reply makes no sense: server says 314 x\n"},
		{"/a/f", "CWD", "314 x", 9, "CWD a: directory refused: reply makes no sense"},
		{"/a/f", "TYPE", "314 x", 17, "TYPE I: type refused: reply makes no sense"},
		{"/a/f", "RETR", "314 x", 19, "RETR f: transfer refused: reply makes no sense"},
		{"/a/", "NLST", "314 x", 19, "NLST: transfer refused: reply makes no sense"},
		{"/a/f", "EPSV", "114 x", 13, "EPSV: no usable answer"},

		// Too many connections keep the code of their step.
		{"/a/f", "", "421 Too many connections (8) from this IP", 7, "no connection: too many connections for the server"},
		{"/a/f", "PASS", "530 Sorry, the maximum number of clients (3) for this user are already connected.", 67, "login refused: too many connections for the server"},

		// So does a server that requires TLS; the hint names the flag.
		{"/a/f", "USER", "530 Non-anonymous sessions must use encryption.", 67, "(--tls explicit asks for it, and so does ftpes:// in place of ftp://)\n"},
		{"/a/f", "USER", "421 TLS is required", 67, "(--tls explicit asks for it, and so does ftpes:// in place of ftp://)\n"},
		{"/a/f", "RETR", "522 Data connections must be encrypted.", 19, "(--tls explicit asks for it, and so does ftpes:// in place of ftp://)\n"},

		// A login refused in other words gets a hint only.
		{"/a/f", "USER", "530 Please come back over a secure channel.", 67, "(if the server asks for TLS, write ftpes:// in place of ftp://)\n"},
		{"/a/f", "PASS", "550 Encryption is mandatory here.", 67, "(if the server asks for TLS, write ftpes:// in place of ftp://)\n"},
		{"/a/f", "RETR", "534 Denied for policy reasons.", 19, "(if the server asks for TLS, write ftpes:// in place of ftp://)\n"},

		{"/a/b/f", "CWD", "550 Permission denied", 9, "write /a%2Fb/f "},
		{"/a/f", "CWD", "550 " + long, 9, "xxx...\n"},
	}
	for _, tt := range tests {
		step := testserver.On(tt.verb, testserver.Reply(tt.reply))
		if tt.verb == "" {
			step = testserver.On("", testserver.Reply(tt.reply), testserver.CloseConn())
		}
		s := testserver.NewScript(t, testserver.Honest("contents"), step)
		var stdout, stderr bytes.Buffer
		args := []string{"-v", "--retries", "0", "-o", "-", s.URL(tt.path)}
		code := cli.Run(t.Context(), args, cli.IO{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
		if code != tt.code || !strings.Contains(stderr.String(), tt.says) {
			t.Errorf("%.100s to %q: exit code %d, want %d and %q in\n%.3000s", tt.reply, tt.verb, code, tt.code, tt.says, &stderr)
		}
		for line := range strings.Lines(stderr.String()) {
			if len(line) > 1200 {
				t.Errorf("%.100s to %q: a line of %d bytes is shown", tt.reply, tt.verb, len(line))
			}
		}
	}
}
