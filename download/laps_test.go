package download

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/internal/rules/night"
	"example.com/ftpfetch/testserver"
)

// ignores makes a server answer REST with 350 and send the file from its first byte all the same, on every kth connection.
// If cut is not 0, transfers end after so many bytes: all of them, or only the first.
func ignores(k, phase int, cut int64, all bool) failure {
	return func(p *testserver.Conn) testserver.Action {
		switch {
		case p.Verb == "REST" && p.Num%k == phase:
			return testserver.Reply("350 Restarting")
		case p.Transfer > 0 && cut > 0 && (all || p.Transfer == 1):
			return testserver.Do(testserver.Cut(cut, testserver.Closed), testserver.Final(testserver.Reply("426 Broken")))
		}
		return nil
	}
}

// alike has the same bytes before each MiB as at its start.
func alike() string {
	b := []byte(noise(4<<20, 9))
	for at := len(b); at >= 0; at -= 1 << 20 {
		copy(b[max(0, at-lapSize):max(at, lapSize)], make([]byte, lapSize))
	}
	return string(b)
}

// TestIgnoredREST retrieves files from farms of which some servers, or all, ignore REST. No wrong byte may get the name,
// neither from this run nor from what an earlier one left.
func TestIgnoredREST(t *testing.T) {
	at, runs, named := 0, 0, 0
	for what, text := range map[string]string{"noise": noise(4<<20, 8), "alike": alike()} {
		wrong := text[:1<<20] + text[lapSize:1<<20+lapSize] // resumed at 1 MiB, where the server began again
		for before, part := range map[string]string{"nothing": "", "a part": text[:1<<20], "a wrong part": wrong, "a target": text[:1<<20]} {
			for _, segments := range []int{1, 2, 4} {
				for _, cut := range []int64{0, 1, 1 << 20, 1<<20 + lapSize, 3 << 20} {
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
									o.Continue = true
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

// TestIgnoredRESTByStreams is TestIgnoredREST for standard output: what is written must be the start of the file whenever
// To fails.
func TestIgnoredRESTByStreams(t *testing.T) {
	for k := 1; k <= 3; k++ {
		for phase := range k {
			for _, cut := range []int64{1, lapSize, 50_000, 100_000, 299_999} {
				for _, all := range []bool{false, true} {
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

// TestVersions replaces the server's file by another of the same size at each command of a run and between two runs, with
// and without MDTM. What comes out must be one of the two.
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
		for _, cut := range []int64{1, lapSize, 100_000, int64(len(body)) - 1} {
			for _, dated := range []bool{true, false} {
				for at, seen := 1, 1; at <= seen; at += night.Or(3, 1) {
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
							return testserver.Cut(cut, testserver.Closed)
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
