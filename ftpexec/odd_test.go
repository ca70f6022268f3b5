package ftpexec_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// What servers say to SIZE, MDTM and MLST. Only a 213 has a value, and in a time the second may be 60.
var (
	sizes = map[string]int64{"213 8": 8, "213  8 ": 8, "213-size\r\n213 8": 8, "213 x": -1, "213 ": -1, "213 -8": -1, "250 8": -1,
		"200 8": -1, "550 No such file": -1, "500 What?": -1, "502 No.": -1, "504 No.": -1, "450 Busy": -1, "553 No.": -1}
	times = map[string]string{"213 20161231235960": "2017-01-01T00:00:00", "213 20260203040506": "2026-02-03T04:05:06",
		"213 20260203040506.999": "2026-02-03T04:05:06", "213 20260203040561": "", "213 8": "", "213 ": "", "250 20260203040506": "",
		"550 No such file": "", "500 What?": "", "502 No.": "", "450 Busy": "", "553 No.": ""}
	facts = map[string]string{"250-x\r\n size=9;modify=20250203040506; f\r\n250 End": "file", "250-x\r\n type=dir; f\r\n250 End": "dir",
		"250 f": "", "250-x\r\n f\r\n250 End": "", "550 No such file": "gone", "500 What?": "", "502 No.": "", "450 Busy": ""}
)

// TestStatOfEveryReply asks about a file with each reply to SIZE, to MDTM and to MLST. MLST is asked only where the
// others leave the size open. One 550 that nothing contradicts means that there is no such file.
func TestStatOfEveryReply(t *testing.T) {
	n := 0
	for size, wantSize := range sizes {
		for mdtm, wantTime := range times {
			for mlst, fact := range facts {
				n++
				inMemory(t, func(t *testing.T, network *ftptest.Network) {
					s := network.NewScript(t, testserver.Honest(""), testserver.On("SIZE", testserver.Reply(size)),
						testserver.On("MDTM", testserver.Reply(mdtm)), testserver.On("MLST", testserver.Reply(mlst)))
					c := &ftpexec.Client{Dial: network.Dial, MaxIdle: -1, NoPipelining: true}
					e, err := c.Stat(t.Context(), parse(t, s.URL("/f")))
					asked := slices.Contains(s.Commands(), "MLST f")
					what := fmt.Sprintf("%q, %q, %q", size, mdtm, mlst)
					wantStat(t, what, e, err, asked, wantSize, wantTime, fact, size[:3] == "550", mdtm[:3] == "550")
				})
			}
		}
	}
	t.Logf("%d triples of replies", n)
}

// wantStat compares what Stat returned with the rule.
func wantStat(t *testing.T, what string, e ftpexec.Entry, err error, asked bool, size int64, when, fact string, noSize, noTime bool) {
	t.Helper()
	vague := size < 0 && !(noSize && noTime)
	gone := noSize || noTime
	if vague && fact == "file" {
		size = 9
		if when == "" {
			when = "2025-02-03T04:05:06"
		}
	}
	gone = gone || vague && (fact == "gone" || fact == "dir")
	gone = gone && size < 0 && when == ""
	got := ""
	if !e.ModTime.IsZero() {
		got = e.ModTime.Format("2006-01-02T15:04:05")
	}
	switch {
	case asked != vague:
		t.Errorf("%s: MLST was asked: %v", what, asked)
	case gone != (err != nil), gone && !errors.Is(err, ftpexec.ErrNotFound) && !errors.Is(err, ftpexec.ErrIsDirectory):
		t.Errorf("%s: got %v, want an error: %v", what, err, gone)
	case !gone && (e.Size != size || got != when):
		t.Errorf("%s: got %d, %s, want %d, %s", what, e.Size, got, size, when)
	}
}

// TestPortsOfEveryReply fetches a file by each reply to EPSV, and to PASV where that is not usable.
func TestPortsOfEveryReply(t *testing.T) {
	type form struct {
		text string
		by   string // the command whose port is used; "" if none can be
	}
	forms := []form{
		{"229 Entering Extended Passive Mode (|||{port}|)", "EPSV"},
		{"229 (|||{port}|) (secure)", "EPSV"},
		{"229 (secure) (|||{port}|)", "EPSV"},
		{"229 Passive (yes) (|||{port}|) (really)", "EPSV"},
		{"229 ok (|1|203.0.113.9|{port}|)", "EPSV"},
		{"229 ok (!!!{port}!)", "EPSV"},
		{"229 ok (~~~{port}~).", "EPSV"},
		{"229-ok\r\n229 (|||{port}|)", "EPSV"},
		// a delimiter that RFC 2428 does not allow, or no delimiter
		{"229 (   {port} )", "PASV"},
		{"229 (\xe9\xe9\xe9{port}\xe9)", "PASV"},
		{"229 (xxx{port}x)", "PASV"},
		{"229 (\t\t\t{port}\t)", "PASV"},
		{"229 |||{port}|", "PASV"},
		{"229 (|||{port}|", "PASV"},
		{"229 (|||99999|)", "PASV"},
		{"229 (|||0|)", "PASV"},
		{"229 (|||-1|)", "PASV"},
		{"229 ()", "PASV"},
		{"200 (|||{port}|)", "EPSV"}, // the first digit decides
		{"500 What?", "PASV"},
	}
	passive := []form{
		{"227 Entering Passive Mode (127,0,0,1,{hi},{lo}).", "PASV"},
		{"227 127,0,0,1,{hi},{lo}", "PASV"},
		{"227 =127, 0, 0, 1, {hi}, {lo}", "PASV"},
		{"227 (203,0,113,9,{hi},{lo})", "PASV"}, // the address does not matter
		{"227 (127,0,0,1,{hi},{lo}) (secure)", "PASV"},
		{"227 (999,0,0,1,{hi},{lo})", ""}, // but a damaged one makes the port doubtful
		{"227 (127,0,0,1,{hi},{lo},7", "PASV"},
		{"227 (127,0,0,1,{hi})", ""},
		{"227 (127,0,0,1,256,{lo})", ""},
		{"227 ok", ""},
		{"500 What?", ""},
	}
	n := 0
	for _, e := range forms {
		for _, p := range passive {
			n++
			s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("EPSV", testserver.Reply(e.text)), testserver.On("PASV", testserver.Reply(p.text)))
			want := e.by
			if want == "PASV" {
				want = p.by
			}
			got, err := do(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URL("/f")))
			if (want == "") != (err != nil) || err == nil && got != "contents" {
				t.Errorf("%q, %q: got %q, %v, want the port of %q", e.text, p.text, got, err, want)
			}
			s.Close()
		}
	}
	t.Logf("%d pairs of replies", n)
}

// TestListingWithoutBeginning ends a listing with 2yz in place of 150, and leaves the data connection open. The client
// waits once, and does not take silence for an empty directory.
func TestListingWithoutBeginning(t *testing.T) {
	n := 0
	for _, verb := range []string{"NLST", "MLSD", "LIST -a"} {
		for _, reply := range []string{"226 Done.", "250 Done."} {
			n++
			runInMemory(t, verb+" "+reply, func(t *testing.T, network *ftptest.Network) {
				s := network.NewScript(t, testserver.Honest(""), testserver.On("^"+verb+"$", testserver.Reply(reply)))
				c := &ftpexec.Client{Dial: network.Dial, MaxIdle: -1}
				start := time.Now()
				var err error
				if verb == "NLST" {
					_, err = list(t.Context(), c, parse(t, s.URL("/a/")))
				} else {
					_, _, err = entriesOf(t.Context(), c, parse(t, s.URL("/a/")))
				}
				took := time.Since(start)
				if !errors.Is(err, ftpexec.ErrTimeout) || ftpexec.Retryable(err) || took != finalGrace {
					t.Errorf("got %v, to be tried again: %v, after %v", err, ftpexec.Retryable(err), took)
				}
			})
		}
	}
	t.Logf("%d listings", n)
}

// TestSignsOfLife sends a reply of several lines with pauses: before RETR begins, as a server with a tape does, and
// before a digest. Each line is a sign of life, but not for ever.
func TestSignsOfLife(t *testing.T) {
	slow := func(lines int, pause time.Duration, end ...testserver.Action) testserver.Step {
		var all []testserver.Action
		for range lines {
			all = append(all, testserver.Reply("150-staging"), after(pause))
		}
		return testserver.On("RETR", append(all, end...)...)
	}
	ends := []testserver.Action{testserver.Reply("150 x"), testserver.Data("contents", testserver.Closed), testserver.Reply("226 x")}
	for _, tt := range []struct {
		name string
		step testserver.Step
		took time.Duration // until it gives up; 0 if it works
	}{
		{"every two seconds", slow(300, 2*time.Second, ends...), 0},
		{"just in time", slow(30, limit-1, ends...), 0},
		{"too late", slow(1, limit+1, ends...), limit},
		{"silence after some", slow(3, time.Second, testserver.EndControl(testserver.Stalled)), 2*time.Second + limit},
		{"for ever", slow(121, limit/2, ends...), 60 * limit},
	} {
		runInMemory(t, tt.name, func(t *testing.T, network *ftptest.Network) {
			s := network.NewScript(t, testserver.Honest("contents"), tt.step)
			start := time.Now()
			got, err := do(t.Context(), &ftpexec.Client{Dial: network.Dial, Timeout: limit, MaxIdle: -1}, parse(t, s.URL("/f")))
			took := time.Since(start)
			<-time.After(limit) // until the server finds the connection closed
			if tt.took == 0 {
				checkHostile(t, got, err, errNone, false)
				return
			}
			if !errors.Is(err, ftpexec.ErrSilent) || !strings.Contains(err.Error(), "no reply to RETR for ") || took.Round(time.Second) != tt.took.Round(time.Second) {
				t.Errorf("got %v after %v, want %v", err, took, tt.took)
			}
		})
	}
}

// TestSilenceIsNamed checks that a timeout names the command that has no reply.
func TestSilenceIsNamed(t *testing.T) {
	for match, want := range map[string]string{
		"": "no greeting for 20s", "USER": "no reply to USER", "CWD": "no reply to CWD", "TYPE": "no reply to TYPE", "SIZE": "no reply to SIZE",
		"MDTM": "no reply to MDTM", "EPSV": "no reply to EPSV", "RETR": "no reply to RETR for 20s",
	} {
		runInMemory(t, match, func(t *testing.T, network *ftptest.Network) {
			s := network.NewScript(t, testserver.Honest("contents"), testserver.On(match, testserver.EndControl(testserver.Stalled)))
			_, err := do(t.Context(), &ftpexec.Client{Dial: network.Dial, Timeout: limit, MaxIdle: -1, NoPipelining: true}, parse(t, s.URL("/a/f")))
			if !errors.Is(err, ftpexec.ErrSilent) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

// TestHashPatience checks that a digest may take a second for each 10 MiB besides Timeout, and that nothing is asked
// twice.
func TestHashPatience(t *testing.T) {
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte("contents")))
	const size = 16 << 30
	most := limit + size/(10<<20)*time.Second
	for _, tt := range []struct {
		name  string
		size  int64
		pause time.Duration
		kept  bool // the connection served another file before
		works bool
	}{
		{"a large file", size, most - 1, false, true},
		{"a large file, on a kept connection", size, most - 1, true, true},
		{"too late", size, most + 1, false, false},
		{"too late on a kept connection", size, most + 1, true, false},
		{"a small file", 8, limit - 1, false, true},
		{"a small file, too late", 8, limit + 1, true, false},
	} {
		for _, feat := range []string{"XSHA256", "HASH SHA-256"} {
			runInMemory(t, tt.name+" "+feat, func(t *testing.T, network *ftptest.Network) {
				verb, _, _ := strings.Cut(feat, " ")
				s := network.NewScript(t, testserver.Honest("contents"), testserver.On("FEAT", testserver.Reply("211-x\r\n "+feat+"\r\n211 y")),
					testserver.On("SIZE", testserver.Reply(fmt.Sprint("213 ", tt.size))), testserver.On("^OPTS", testserver.Reply("200 x")),
					testserver.On("^"+verb, after(tt.pause), testserver.Reply("250 "+sum)))
				c := &ftpexec.Client{Dial: network.Dial, Timeout: limit}
				defer c.CloseIdleConnections()
				if tt.kept {
					_, _ = c.Stat(t.Context(), parse(t, s.URL("/a/g")))
				}
				got, err := c.Hash(t.Context(), parse(t, s.URL("/a/f")), "sha256")
				asked := 0
				for _, line := range s.Commands() {
					if strings.HasPrefix(line, verb+" ") {
						asked++
					}
				}
				wrong := !errors.Is(err, ftpexec.ErrTimeout) || ftpexec.Retryable(err) || err != nil && !strings.Contains(err.Error(), "no reply to "+verb+" for ")
				if tt.works && (err != nil || fmt.Sprintf("%x", got) != sum) || !tt.works && wrong || asked != 1 {
					t.Errorf("got %x, %v, asked %d times", got, err, asked)
				}
			})
		}
	}
}

// TestHashOfWhichFile checks that a digest is asked for by the full name, and that a digest of a part of the file or of
// another file does not count.
func TestHashOfWhichFile(t *testing.T) {
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte("contents")))
	for _, tt := range []struct {
		feat, pwd, file, reply string
		sent                   string // the commands from PWD on
		works                  bool
	}{
		{"HASH SHA-256", `257 "/a"`, "f", "213 SHA-256 0-8 " + sum + " /a/f", "PWD,OPTS HASH SHA-256,HASH /a/f", true},
		{"HASH SHA-256", `257 "/a"`, "f", "213 SHA-256 0-7 " + sum + " f", "PWD,OPTS HASH SHA-256,HASH /a/f", true},
		{"HASH SHA-256", `257 "/a"`, "f", "213-Computing SHA-256 digest\r\n213 SHA-256 0-8 " + sum + " /a/f", "PWD,OPTS HASH SHA-256,HASH /a/f", true},
		{"HASH SHA-256", `257 "/a"`, "f", "213 SHA-256 0-8 " + sum, "PWD,OPTS HASH SHA-256,HASH /a/f", true},
		// of a part, or of the file of another length in the root
		{"HASH SHA-256", `257 "/a"`, "f", "213 SHA-256 0-5 " + sum + " /a/f", "PWD,OPTS HASH SHA-256,HASH /a/f", false},
		{"HASH SHA-256", `257 "/a"`, "f", "213 SHA-256 3-8 " + sum + " /a/f", "PWD,OPTS HASH SHA-256,HASH /a/f", false},
		{"HASH SHA-256", `257 "/a"`, "f", "213 SHA-256 0-8 " + sum + " /a/g", "PWD,OPTS HASH SHA-256,HASH /a/f", false},
		// of what stands before the space
		{"HASH SHA-256", `257 "/a"`, "f g", "213 SHA-256 0-8 " + sum + " /a/f", "PWD,OPTS HASH SHA-256,HASH /a/f g", false},
		{"HASH SHA-256", `257 "/a"`, "f g", "213 SHA-256 0-8 " + sum + " /a/f g", "PWD,OPTS HASH SHA-256,HASH /a/f g", true},
		{"HASH SHA-256", `257 "/a"`, "f", "550 /a/f: no such file", "PWD,OPTS HASH SHA-256,HASH /a/f", false},
		{"XSHA256", `257 "/"`, "f", "250 " + sum, "PWD,XSHA256 /f", true},
		{"XSHA256", `257 "DISK:[A]"`, "f", "250 " + sum, "PWD,XSHA256 f", true},
		{"XSHA256", "500 What?", "f", "250 " + sum, "PWD,XSHA256 f", true},
		{"XSHA256", `257 "/a"`, "f g", "250 " + sum, `PWD,XSHA256 "/a/f g"`, true},
		{"XSHA256", `257 "/a"`, "f g", "501 No.", `PWD,XSHA256 "/a/f g",XSHA256 /a/f g`, false},
	} {
		s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("FEAT", testserver.Reply("211-x\r\n "+tt.feat+"\r\n211 y")),
			testserver.On("PWD", testserver.Reply(tt.pwd)), testserver.On("OPTS", testserver.Reply("200 x")),
			testserver.On("^(HASH|XSHA256)", testserver.Reply(tt.reply)))
		got, err := (&ftpexec.Client{MaxIdle: -1}).Hash(t.Context(), parse(t, s.URL("/a/"+strings.ReplaceAll(tt.file, " ", "%20"))), "sha256")
		sent := s.Commands()
		sent = slices.DeleteFunc(sent[slices.Index(sent, "PWD"):], func(line string) bool { return line == "QUIT" })
		if strings.Join(sent, ",") != tt.sent || tt.works != (err == nil) || tt.works && fmt.Sprintf("%x", got) != sum {
			t.Errorf("%q: got %x, %v, sent %q, want %q", tt.reply, got, err, sent, tt.sent)
		}
		e, ok := errors.AsType[*ftpexec.Error](err)
		if !tt.works && (!ok || !errors.Is(err, errors.ErrUnsupported) || e.Reply == "") {
			t.Errorf("%q: got %v, want an error with the reply", tt.reply, err)
		}
	}
}

// TestOtherSize sends more or fewer bytes than SIZE says, from the start and from the middle of the file.
func TestOtherSize(t *testing.T) {
	for _, tt := range []struct {
		size   string
		offset int64
		want   error
		text   string
	}{
		{"213 8", 0, nil, ""},
		{"213 5", 0, ftpexec.ErrMore, "more than the 5 bytes announced"},
		{"213 5", 2, ftpexec.ErrMore, "more than the 5 bytes announced"},
		{"213 9", 0, ftpexec.ErrFewer, "8 of 9 bytes, and the server says that this is all"},
		{"213 9", 3, ftpexec.ErrFewer, "8 of 9 bytes, and the server says that this is all"},
		{"213 0", 0, ftpexec.ErrMore, "more than the 0 bytes announced"},
	} {
		s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("SIZE", testserver.Reply(tt.size)),
			testserver.On("REST", testserver.Reply("350 x")),
			testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("contents"[tt.offset:], testserver.Closed), testserver.Reply("226 x")))
		r, err := (&ftpexec.Client{MaxIdle: -1}).Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/f")), Offset: tt.offset, Unproven: true})
		if err == nil {
			_, err = readAll(r)
		}
		if !errors.Is(err, tt.want) || err != nil && (!errors.Is(err, ftpexec.ErrTruncated) || !strings.Contains(err.Error(), tt.text)) {
			t.Errorf("%s from %d: got %v, want %q", tt.size, tt.offset, err, tt.text)
		}
	}
}
