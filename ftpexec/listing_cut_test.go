package ftpexec_test

import (
	"errors"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// TestListingCutAtEveryByte ends a listing after each number of bytes. Whatever shows that it was cut is an error, and then
// there are no entries. RFC 3659 section 7.2 ends every line of MLSD with CRLF. RFC 959 section 4.1.3 only separates the names
// of NLST, so without such a sign its last line, and that of LIST, may do without.
func TestListingCutAtEveryByte(t *testing.T) {
	texts := map[string]string{
		"MLSD": "type=file;size=7; one\r\ntype=dir; two\r\ntype=file; three\r\n",
		"LIST": line("one") + line("two") + line("three"),
		"NLST": "one\r\ntwo\r\nthree\r\n",
	}
	ends := map[string][]testserver.Action{
		"226":     {testserver.CloseData(), testserver.Reply("226 Done.")},
		"426":     {testserver.CloseData(), testserver.Reply("426 Broken.")},
		"550":     {testserver.CloseData(), testserver.Reply("550 Broken.")},
		"reset":   {testserver.ResetData(), testserver.Reply("226 Done.")},
		"control": {testserver.CloseData(), testserver.CloseConn()},
	}
	for verb, text := range texts {
		for end, actions := range ends {
			for n := 1; n <= len(text); n++ {
				inMemory(t, func(t *testing.T, network *ftptest.Network) {
					steps := []testserver.Step{testserver.Honest("")}
					for _, other := range []string{"MLSD", "LIST", "NLST"} {
						steps = append(steps, testserver.On(other, testserver.Reply("502 No.")))
					}
					data := append([]testserver.Action{testserver.Reply("150 Yes."), testserver.SendData(text[:n])}, actions...)
					whole := []testserver.Action{testserver.Reply("150 Yes."), testserver.SendData(text), testserver.CloseData(), testserver.Reply("226 Done.")}
					s := network.NewScript(t, append(steps, testserver.On(verb, data...), testserver.OnConn(2, testserver.On(verb, whole...)))...)
					c := &ftpexec.Client{MaxIdle: -1, Dial: network.Dial}
					got, lines, err := entriesOf(t.Context(), c, parse(t, s.URL("/d/")))
					inLine := text[n-1] != '\n'
					switch {
					case end != "226" && (err == nil || len(got) > 0):
						t.Errorf("%s, %s, %d bytes: got %q, %v, want an error", verb, end, n, got, err)
					case end == "226" && verb == "MLSD" && inLine && (!errors.Is(err, ftpexec.ErrTruncated) || len(got) > 0):
						t.Errorf("%s, %d bytes: got %q, %v, want ErrTruncated", verb, n, got, err)
					case end == "226" && !inLine && (err != nil || len(lines) > 0):
						t.Errorf("%s, %d bytes: %v, %v", verb, n, lines, err)
					case end == "226" && verb != "MLSD" && (inLine || n > len(text)-3) && (err != nil || len(got) != 3):
						t.Errorf("%s, %d bytes: got %q, %v, want all entries", verb, n, got, err)
					}
				})
			}
		}
	}
}
