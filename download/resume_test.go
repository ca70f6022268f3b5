package download

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

var body = noise(300_000, 1)

// TestResumeOfAnother changes the file, the part or the journal between two runs. The second run must say so and fetch
// the whole file again.
func TestResumeOfAnother(t *testing.T) {
	other := noise(300_000, 2)
	tests := []struct {
		what string
		do   func(*kit)
		path string
		o    Options
		told string
		want string
	}{
		{"time", func(k *kit) { k.change("/f", other, kitTime.Add(time.Second)) }, "/f", Options{}, "modified", other},
		{"size", func(k *kit) { k.change("/f", body+"x", kitTime) }, "/f", Options{}, "now has 300001 bytes, not 300000", body + "x"},
		{"shorter than what is there", func(k *kit) { k.change("/f", "x", kitTime) }, "/f", Options{}, "now has 1 bytes", "x"},
		{"URL", func(*kit) {}, "/g", Options{}, "another URL", "gg"},
		{"not wanted", func(*kit) {}, "/f", Options{NoResume: true}, "is not used", body},
		{"type", func(*kit) {}, "/f;type=a", Options{}, "", ""},
		{"part cut", func(k *kit) { k.truncate("f.ftpfetch.part", 99_999) }, "/f", Options{}, "it has 99999 bytes, but its journal claims 100000", body},
		{"part gone", func(k *kit) { k.remove("f.ftpfetch.part") }, "/f", Options{}, "it has 0 bytes, but its journal claims 100000", body},
		{"journal damaged", func(k *kit) { k.write("f.ftpfetch.json", `{"ftpfetch":4,"size":10,"done":[[5,3,0]]}`) }, "/f", Options{}, "its journal is damaged", body},
		{"journal of a later version", func(k *kit) { k.write("f.ftpfetch.json", `{"ftpfetch":5,"url":"ftp://h/f","size":10,"done":[]}`) }, "/f", Options{}, "its journal has version 5", body},
		{"no REST", func(k *kit) { k.faulty(replies("REST", "502 What?")) }, "/f", Options{}, "cannot start in the middle", body},
		{"no time", func(k *kit) { k.faulty(replies("MDTM", "502 What?")) }, "/f", Options{}, "does not always report the file's time", body},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			k := newKit(t, map[string]string{"/f": body, "/g": "gg"})
			k.leaves("/f", 100_000)
			tt.do(k)
			if r, err := k.get(tt.path, tt.o); err != nil || r.Resumed != 0 || tt.told != "" && !k.told(Noted, tt.told) {
				t.Errorf("got %+v, %v, events %v", r, err, k.events)
			}
			if tt.want != "" {
				k.want(map[string]string{"f": tt.want})
			}
		})
	}
}

func (k *kit) truncate(name string, n int64) {
	must.Do(k, os.Truncate(k.path(name), n))
}

func (k *kit) remove(name string) {
	must.Do(k, os.Remove(k.path(name)))
}

// TestResumeJournalInTheWay puts a directory in place of the journal.
func TestResumeJournalInTheWay(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	must.Do(t, os.Mkdir(k.path("f.ftpfetch.json"), 0o755))
	k.write("f.ftpfetch.json/x", "")
	if _, err := k.get("/f", Options{}); !errors.Is(err, ErrLocal) {
		t.Errorf("got %v, want ErrLocal", err)
	}
	wantNames(t, k.dir, "f.ftpfetch.json")
}

// TestResumeParts resumes from a part with gaps, as several connections leave it, from one that has all bytes but no
// confirmed end, and from one that is too long.
func TestResumeParts(t *testing.T) {
	for _, tt := range []struct {
		part  string
		done  []span
		rests []string
	}{
		{body[:1000] + strings.Repeat("z", 9000) + body[10_000:20_000] + strings.Repeat("z", 280_000), []span{{0, 1000}, {10000, 20000}}, []string{"1000", "20000"}},
		{body, []span{{0, 300_000}}, []string{"299999"}},
		{body[:100_000] + strings.Repeat("z", 250_000), []span{{0, 100_000}}, []string{"100000"}},
	} {
		k := newKit(t, map[string]string{"/f": body})
		k.write("f.ftpfetch.part", tt.part)
		k.write("f.ftpfetch.json", k.journal("/f", 300_000, kitTime, tt.done...))
		r, err := k.get("/f", Options{})
		if got := k.rests(); err != nil || r.Resumed == 0 || !slices.Equal(got, tt.rests) {
			t.Errorf("got %+v, %v, REST %q, want %q", r, err, got, tt.rests)
		}
		k.want(map[string]string{"f": body})
	}
}

// TestSize sets Options.Size, right or wrong. The server reports the size before the transfer, at its end or never.
func TestSize(t *testing.T) {
	right, wrong := int64(300_000), int64(299_999)
	never := func(p *testserver.Conn) testserver.Action {
		if p.Verb == "SIZE" || p.Verb == "MLST" {
			return testserver.Reply("502 What?")
		}
		return nil
	}
	for what, fault := range map[string]failure{"before": nil, "at the end": replies("SIZE", "502 What?"), "never": never} {
		k := newKit(t, map[string]string{"/f": body})
		k.faulty(fault)
		for _, o := range []Options{{Size: &wrong}, {Size: &wrong, Segments: 2}} {
			_, err := k.get("/f", o)
			_, terr := To(t.Context(), k.c, k.url("/f"), io.Discard, &Options{Size: &wrong})
			if !errors.Is(err, ftpexec.ErrChanged) || !errors.Is(terr, ftpexec.ErrChanged) {
				t.Errorf("%s: got %v, To %v, want ftpexec.ErrChanged", what, err, terr)
			}
			wantNames(t, k.dir)
		}
		if _, err := k.get("/f", Options{Size: &right}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		k.want(map[string]string{"f": body})
	}
}

// noFacts refuses SIZE and MDTM by the reply for a missing file.
func noFacts(p *testserver.Conn) testserver.Action {
	if p.Verb == "SIZE" || p.Verb == "MDTM" {
		return testserver.Reply("550 Permission denied.") // vsftpd, cmds_denied
	}
	return nil
}

func TestContinue(t *testing.T) {
	half := body[:150_000]
	tests := []struct {
		what   string
		before map[string]string
		fault  failure
		err    error
		after  map[string]string
		rests  []string
	}{
		{"nothing", nil, nil, nil, map[string]string{"f": body}, nil},
		{"half", map[string]string{"f": half}, nil, nil, map[string]string{"f": body}, []string{"150000"}},
		{"all", map[string]string{"f": body}, nil, nil, map[string]string{"f": body}, nil},
		{"all but aria2's pieces", map[string]string{"f": body, "f.aria2": ""}, nil, ErrResume, map[string]string{"f": body, "f.aria2": ""}, nil},
		{"empty", map[string]string{"f": ""}, nil, nil, map[string]string{"f": body}, nil},
		{"too much", map[string]string{"f": body + "x"}, nil, ErrResume, map[string]string{"f": body + "x"}, nil},
		{"no REST", map[string]string{"f": half}, replies("REST", "502 What?"), ErrResume, map[string]string{"f": half}, nil},
		{"no size", map[string]string{"f": half}, replies("SIZE", "502 What?"), ErrResume, map[string]string{"f": half}, nil},
		{"no time", map[string]string{"f": half}, replies("MDTM", "502 What?"), nil, map[string]string{"f": body}, []string{"150000"}},
		{"size and time refused", map[string]string{"f": half}, noFacts, ErrResume, map[string]string{"f": half}, nil},
		{"refused", map[string]string{"f": half}, replies("RETR", "550 No"), ftpexec.ErrRefused, map[string]string{"f": half}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			k := newKit(t, map[string]string{"/f": body})
			for name, text := range tt.before {
				k.write(name, text)
			}
			k.faulty(tt.fault)
			if _, err := k.get("/f", Options{Existing: Continue}); !errors.Is(err, tt.err) {
				t.Errorf("got %v, want %v", err, tt.err)
			}
			k.want(tt.after)
			if tt.rests != nil && !slices.Equal(k.rests(), tt.rests) {
				t.Errorf("it did not resume at %s", tt.rests)
			}
		})
	}
}

// TestContinueOlder checks that Continue refuses a target that is older than the server's file, because that file has
// changed since.
func TestContinueOlder(t *testing.T) {
	for _, n := range []int{1000, 300_000} {
		k := newKit(t, map[string]string{"/f": body})
		k.write("f", body[:n])
		past := kitTime.Add(-time.Second)
		must.Do(t, os.Chtimes(k.path("f"), past, past))
		if _, err := k.get("/f", Options{Existing: Continue}); !errors.Is(err, ErrResume) || !strings.Contains(err.Error(), "is older than the server's file") {
			t.Errorf("%d bytes: got %v", n, err)
		}
		k.want(map[string]string{"f": body[:n]})
	}
}

// TestAdoptedPartGone checks that a run starts over if the part that Continue began is gone.
func TestAdoptedPartGone(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.leaves("/f", 100_000)
	j := read(t, k.path("f.ftpfetch.json"))
	k.remove("f.ftpfetch.part")
	k.write("f.ftpfetch.json", strings.Replace(j, `"done"`, `"adopted":1000,"done"`, 1))
	if _, err := k.get("/f", Options{}); err != nil {
		t.Errorf("got %v", err)
	}
}

// TestOverwriteAfterContinue checks that Overwrite starts over and does not keep the bytes that Continue copied.
func TestOverwriteAfterContinue(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.write("f", strings.Repeat("x", 1000))
	k.faulty(cut(1, 100_000))
	_, _ = k.get("/f", Options{Existing: Continue, Retries: -1})
	k.faulty(nil)
	if _, err := k.get("/f", Options{Existing: Overwrite}); err != nil || read(t, k.path("f")) != body {
		t.Errorf("got %v, and f begins with %q", err, read(t, k.path("f"))[:5])
	}
}

// ignores makes a server reply 350 to REST and still send the file from its first byte, on every kth connection. If cut
// is not 0, transfers end after cut bytes: all transfers, or only the first.
func ignores(k, phase int, cut int64, all bool) failure {
	return func(p *testserver.Conn) testserver.Action {
		switch {
		case p.Verb == "REST" && p.Num%k == phase:
			return testserver.Reply("350 Restarting")
		case p.Transfer > 0 && cut > 0 && (all || p.Transfer == 1):
			return testserver.Sequence(testserver.EndDataAfter(cut, testserver.Closed), testserver.ReplaceReply(testserver.Reply("426 Broken")))
		}
		return nil
	}
}

// alike returns a text that has the same bytes before each MiB as at its start.
func alike() string {
	b := []byte(noise(4<<20, 9))
	for at := len(b); at >= 0; at -= 1 << 20 {
		copy(b[max(0, at-overlapSize):max(at, overlapSize)], make([]byte, overlapSize))
	}
	return string(b)
}

// TestIgnoredREST retrieves files from server farms in which some or all servers ignore REST. No file with a wrong byte
// may get its name, whether the byte is from this run or an earlier one.
func TestIgnoredREST(t *testing.T) {
	at, runs, named := 0, 0, 0
	for what, text := range map[string]string{"noise": noise(4<<20, 8), "alike": alike()} {
		wrong := text[:1<<20] + text[overlapSize:1<<20+overlapSize] // a resume at 1 MiB if the server ignores REST
		for before, part := range map[string]string{"nothing": "", "a part": text[:1<<20], "a wrong part": wrong, "a target": text[:1<<20]} {
			for _, segments := range []int{1, 2, 4} {
				for _, cut := range []int64{0, 1, 1 << 20, 1<<20 + overlapSize, 3 << 20} {
					for _, all := range []bool{false, true} {
						for k := 1; k <= 3; k++ {
							for phase := range k {
								if at++; at%*matrixEvery != 0 {
									continue
								}
								f := newKit(t, map[string]string{"/f": text})
								o := Options{Segments: segments}
								switch {
								case before == "a target":
									f.write("f", part)
									o.Existing = Continue
								case part != "":
									f.write("f.ftpfetch.part", part)
									f.write("f.ftpfetch.json", f.journal("/f", 4<<20, kitTime, span{0, int64(len(part))}))
								}
								f.faulty(ignores(k, phase, cut, all))
								_, err := f.get("/f", o)
								if err != nil && before != "a target" {
									f.faulty(nil)
									_, err = f.get("/f", Options{Segments: segments})
								}
								if runs++; err == nil {
									named++
								} else if before != "a target" {
									t.Errorf("%s, %s, %d connections, cut %d %v, REST ignored on %d of %d: %v", what, before, segments, cut, all, phase, k, err)
								}
								if err == nil && read(t, f.path("f")) != text {
									t.Fatalf("%s, %s, %d connections, cut %d %v, REST ignored on %d of %d: a wrong file", what, before, segments, cut, all, phase, k)
								}
								f.Close()
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d runs, %d named their file", runs, named)
}

// TestIgnoredRESTByStreams is TestIgnoredREST for To. If To fails, the bytes written must be the start of the file.
func TestIgnoredRESTByStreams(t *testing.T) {
	nth := 0
	for k := 1; k <= 3; k++ {
		for phase := range k {
			for _, cut := range []int64{1, overlapSize, 50_000, 100_000, 299_999} {
				for _, all := range []bool{false, true} {
					if nth++; nth%night.Or(7, 1) != 0 {
						continue
					}
					f := newKit(t, map[string]string{"/f": body})
					f.faulty(ignores(k, phase, cut, all))
					var got bytes.Buffer
					_, err := To(t.Context(), f.c, f.url("/f"), &got, nil)
					if !strings.HasPrefix(body, got.String()) || err == nil && got.Len() != len(body) {
						t.Errorf("REST ignored on %d of %d, cut %d: %d bytes, %v", phase, k, cut, got.Len(), err)
					}
					if k > 1 && !all && err != nil {
						t.Errorf("REST ignored on %d of %d, cut %d: %v, though another connection does not ignore it", phase, k, cut, err)
					}
					f.Close()
				}
			}
		}
	}
}

// TestVersions replaces the server's file by another of the same size, at each command of a run and between two runs,
// with and without MDTM. The result must be one of the two files.
func TestVersions(t *testing.T) {
	other := noise(len(body), 2)
	to := map[string]func(*kit) (string, error){
		"a file": func(k *kit) (string, error) {
			_, err := k.get("/f", Options{Retries: 1})
			if err != nil {
				_, err = k.get("/f", Options{})
			}
			b, _ := os.ReadFile(k.path("f"))
			return string(b), err
		},
		"a writer": func(k *kit) (string, error) {
			var got bytes.Buffer
			_, err := To(k.Context(), k.c, k.url("/f"), &got, nil)
			return got.String(), err
		},
	}
	runs, whole := 0, 0
	for what, get := range to {
		for _, cut := range []int64{1, overlapSize, 100_000, int64(len(body)) - 1} {
			for _, dated := range []bool{true, false} {
				for at, seen := 1, 1; at <= seen; at += night.Or(7, 1) {
					k := newKit(t, map[string]string{"/f": body})
					seen = 0
					k.faulty(func(p *testserver.Conn) testserver.Action {
						if seen++; seen == at {
							k.change("/f", other, kitTime.Add(time.Second))
						}
						switch {
						case p.Verb == "MDTM" && !dated:
							return testserver.Reply("502 What?")
						case p.Transfer == 1 || p.Transfer == 2 && at%2 == 0:
							return testserver.EndDataAfter(cut, testserver.Closed)
						}
						return nil
					})
					got, err := get(k)
					if runs++; err == nil {
						whole++
					}
					if err == nil && !slices.Contains([]string{body, other}, got) {
						t.Errorf("%s, cut %d, MDTM %v, changed at command %d: %d bytes of two versions", what, cut, dated, at, len(got))
					}
					if err != nil && what == "a file" {
						t.Errorf("%s, cut %d, MDTM %v, changed at command %d: %v", what, cut, dated, at, err)
					}
					k.Close()
				}
			}
		}
	}
	t.Logf("%d runs, %d were whole", runs, whole)
}

// TestIntactPart checks that a run that resumes from an intact part reports no damage.
func TestIntactPart(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.leaves("/f", 100_000)
	if r, err := k.get("/f", Options{}); err != nil || r.Resumed != 100_000 {
		t.Errorf("got %+v, %v", r, err)
	}
	for _, e := range k.events {
		if strings.Contains(e.Text, "damaged") {
			t.Errorf("told %q", e.Text)
		}
	}
}

// TestListIsLost closes the connection whenever the client requests a list of digests. The run must not take that for a
// missing list.
func TestListIsLost(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body, "/f.sha256": sha256Of(body)})
	k.faulty(func(p *testserver.Conn) testserver.Action {
		if p.Verb == "RETR" && strings.HasSuffix(p.Arg, ".sha256") {
			return testserver.EndControl(testserver.Closed)
		}
		return nil
	})
	if _, err := k.get("/f", Options{Verify: true}); err == nil || errors.Is(err, ErrUnverified) {
		t.Errorf("got %v, want that the connection is lost", err)
	}
}
