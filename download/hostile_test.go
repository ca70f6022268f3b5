package download

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// numbers are texts that a server may send wherever the protocol has a number.
var numbers = []string{
	"0", "-1", "2147483647", "2147483648", "4294967296", "1099511627776", "4611686018427387904", "9223372036854775807",
	"9223372036854775808", "18446744073709551616", strings.Repeat("9", 40), "1e9", "",
}

// places are the replies with a number, as %[1]s, and the commands that the server must not know.
var places = []struct{ verb, reply, unknown string }{
	{"SIZE", "213 %[1]s", ""}, {"MDTM", "213 %[1]s", ""}, {"MDTM", "213 %[1]s0101000000", ""}, {"MDTM", "213 20200102030405.%[1]s", ""},
	{"EPSV", "229 Extended (|||%[1]s|)", ""}, {"PASV", "227 Passive (127,0,0,1,%[1]s,%[1]s)", "EPSV"}, {"PASV", "227 Passive (127,0,0,1,255,%[1]s)", "EPSV"},
	{"REST", "350 Restarting at %[1]s", ""}, {"", "120 ready in %[1]s minutes\r\n220 ready", ""},
	{"MLST", "250-x\r\n Type=file;Size=%[1]s;Modify=%[1]s; f\r\n250 x", "SIZE MDTM"},
	{"RETR", "%[1]s bytes", "SIZE"}, {"RETR", "%[1]s bytes", ""},
}

// modes are the ways to retrieve a file. have is the text of the target.
var modes = []struct {
	name, have string
	o          Options
}{
	{"plain", "", Options{}}, {"-s 4", "", Options{Segments: 4}}, {"-c", "con", Options{Existing: Continue}}, {"-N", "old", Options{Existing: Newer}},
	{"-c -N", "con", Options{Existing: NewerOrContinue}}, {"-c -s 64", "con", Options{Existing: Continue, Segments: 64}},
	{"--verify", "", Options{Verify: true}}, {"--overwrite", "old", Options{Existing: Overwrite}},
}

// TestHostileNumbers sends each number in each place, in each mode. Either the file is right, or there is an error and
// the target is unchanged. No number may make the client allocate much memory.
func TestHostileNumbers(t *testing.T) {
	n := 0
	for i, place := range places {
		for j, number := range numbers {
			for k, mode := range modes {
				if (i+j+k)%night.Or(4, 1) == 0 {
					n++
					hostile(t, place.verb, fmt.Sprintf(place.reply, number), place.unknown, mode.have, mode.o)
				}
			}
		}
	}
	t.Logf("%d runs", n)
}

func hostile(t *testing.T, verb, reply, unknown, have string, o Options) {
	const contents = "contents"
	action := testserver.Reply(reply)
	if verb == "RETR" {
		action = testserver.Sequence(testserver.Reply("150 Opening ("+reply+")"), testserver.Data(contents, testserver.Closed), testserver.Reply("226 "+reply))
	}
	steps := []testserver.Step{restarting(contents), testserver.On(verb, action)}
	for _, no := range strings.Fields(unknown) {
		steps = append(steps, testserver.On(no, testserver.Reply("502 What?")))
	}
	s := testserver.New(t, nil, steps...)
	defer s.Close()
	k := &kit{T: t, dir: t.TempDir(), c: &ftpexec.Client{Timeout: 5 * time.Second}, Server: s}
	defer k.c.CloseIdleConnections()
	k.src = k.c
	if have != "" {
		k.write("f", have)
	}
	before := allocated()
	o.Retries = -1
	r, err := k.get("/f", o)
	grown, got, want := allocated()-before, "", contents
	if err != nil || r.Left != "" {
		want = have
	}
	if k.exists("f") {
		got = read(t, k.path("f"))
	}
	if got != want || grown > 64<<20 { // each of 64 segments may have a buffer
		t.Errorf("%s %q, %+v: got %q, %v, want %q; %d bytes are allocated", verb, reply, o, got, err, want, grown)
	}
}

// restarting is Honest with REST: RETR sends contents from the offset on, and nothing if the offset is beyond the end.
func restarting(contents string) testserver.Step {
	return func(d *testserver.Dialogue) {
		offset := 0
		testserver.Honest(contents).With("REST", func(c *testserver.Conn) error {
			offset = len(contents)
			fmt.Sscan(c.Arg, &offset)
			return testserver.Reply("350 fine")(c)
		}).With("RETR", func(c *testserver.Conn) error {
			rest := contents[min(offset, len(contents)):]
			offset = 0
			return testserver.Transfer(rest)(c)
		})(d)
	}
}

func allocated() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}
