package download

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/internal/rules/night"
	"example.com/ftpfetch/testserver"
)

var togetherRounds = flag.Int("together.rounds", night.Or(4, 40), "rounds of TestTogether")

// TestTogether starts runs of all kinds at once on one name, from several states. One whole file must come out, a run
// may fail only with a clear refusal, and nothing may be left over.
func TestTogether(t *testing.T) {
	kinds := []Options{
		{}, {Segments: 4}, {Continue: true}, {Newer: true}, {Overwrite: true}, {Skip: true}, {NoResume: true}, {Sum: sum(t, "sha256:"+sha256Of(threeMiB))},
	}
	k := newKit(t, map[string]string{"/f": threeMiB})
	states := map[string]func(){
		"nothing": func() {},
		"half":    func() { k.write("f", threeMiB[:1<<20]) },
		"all":     func() { k.write("f", threeMiB) },
		"a part": func() {
			k.write("f.part", threeMiB[:1<<20])
			k.write("f.part.json", k.journal("/f", 3<<20, kitTime, span{0, 1 << 20}))
		},
		"a naked part": func() { k.write("f.part", threeMiB[:1<<20]) },
	}
	runs, done, refused := 0, 0, 0
	for round := range *togetherRounds {
		for what, before := range states {
			k.dir = t.TempDir()
			before()
			errs := k.together(kinds, round)
			for i, err := range errs {
				runs++
				if err == nil {
					done++
				} else if refused++; !clear(err) {
					t.Errorf("%s: %+v: got %v", what, kinds[i], err)
				}
			}
			k.checkTogether(threeMiB, errs)
		}
	}
	t.Logf("%d runs: %d done, %d refused", runs, done, refused)
}

// together starts a run of each kind at the same moment.
func (k *kit) together(kinds []Options, round int) []error {
	errs := make([]error, len(kinds))
	start := make(chan struct{})
	var group sync.WaitGroup
	for i := range kinds {
		o := kinds[(i+round)%len(kinds)]
		o.checkpoint = time.Millisecond
		group.Go(func() {
			<-start
			_, errs[(i+round)%len(kinds)] = File(k.Context(), k.c, k.url("/f"), k.path("f"), &o)
		})
	}
	close(start)
	group.Wait()
	return errs
}

// clear reports whether err is a refusal that says what is in the way.
func clear(err error) bool {
	return errors.Is(err, fs.ErrExist) || errors.Is(err, localfile.ErrPart) || errors.Is(err, ErrResume) ||
		errors.Is(err, ErrLocal) && strings.Contains(err.Error(), "is being written by another run")
}

// checkTogether checks that there is one whole file, or the earlier files if no run could use them.
func (k *kit) checkTogether(text string, errs []error) {
	k.Helper()
	all := namesIn(k.T, k.dir)
	if !slices.Equal(all, []string{"f"}) || read(k.T, k.path("f")) != text {
		k.Errorf("there is %q, errors %v", all, errs)
	}
}

// TestTargetAppears makes the target appear while the part is claimed, beside the journal of the run that named it.
// Nothing from the later run may stay.
func TestTargetAppears(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.write("f.part", body)
	journal := k.journal("/f", 300_000, kitTime, span{0, 300_000})
	k.remove("f.part")
	k.write("f.part.json", journal)
	onCall(t, func(call, path string) error {
		if call == "open" && path == k.path("f.part") && !k.exists("f") {
			k.write("f", body)
		}
		return nil
	})
	if _, err := k.get("/f", Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want fs.ErrExist", err)
	}
	k.want(map[string]string{"f": body, "f.part.json": journal})
}

// TestWithoutLocks starts a second run at every call on the disk of a first where there are no locks, from nothing and
// from a part, with another version of the file for the second run, which may also be stopped. A run may fail, but the
// name belongs to one whole version.
func TestWithoutLocks(t *testing.T) {
	other := noise(len(body), 2)
	runs := 0
	t.Cleanup(func() { partfile.Fault = nil })
	for _, before := range []string{"", body[:100_000]} {
		for _, first := range []Options{{}, {Overwrite: true}} {
			for _, second := range []Options{{}, {Overwrite: true}} {
				for _, changes := range []bool{false, true} {
					for _, stopped := range []bool{false, true} {
						for at, n := 1, 1; at <= n; at += *matrixEvery/4 + 1 {
							k := newKit(t, map[string]string{"/f": body})
							if before != "" {
								k.write("f.part", before)
								k.write("f.part.json", k.journal("/f", int64(len(body)), kitTime, span{0, int64(len(before))}))
							}
							n = 0
							var calls sync.Mutex
							var serr error
							partfile.Fault = func(call, _ string) error {
								calls.Lock()
								n++
								now := n == at
								calls.Unlock()
								if now {
									if changes {
										k.change("/f", other, kitTime.Add(time.Second))
									}
									o := second
									if stopped {
										k.faulty(always("RETR", testserver.Do(testserver.Cut(200_000, testserver.Closed), testserver.Final(testserver.Reply("426 Broken")))))
										o.Retries = -1
									}
									_, serr = File(context.Background(), k.c, k.url("/f"), k.path("f"), &o)
									k.faulty(nil)
								}
								if call == "flock" {
									return errors.ErrUnsupported
								}
								return nil
							}
							_, err := k.get("/f", first)
							calls.Lock()
							total := n
							n = 1 << 30
							calls.Unlock()
							if runs++; k.exists("f") {
								if got := read(t, k.path("f")); got != body && got != other {
									t.Errorf("%+v, then at call %d %+v, changes %v, stopped %v: %d bytes of no version, errors %v, %v", first, at, second, changes, stopped, len(got), err, serr)
								}
							} else if err == nil || serr == nil {
								t.Errorf("at call %d: no file, errors %v, %v", at, err, serr)
							}
							_, err = k.get("/f", Options{Overwrite: true})
							if got := read(t, k.path("f")); err != nil || got != body && got != other {
								t.Errorf("at call %d, changes %v, stopped %v: the next run: %v", at, changes, stopped, err)
							}
							partfile.Fault, n = nil, total
							k.Close()
						}
					}
				}
			}
		}
	}
	t.Logf("%d runs", runs)
}
