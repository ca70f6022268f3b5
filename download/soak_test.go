package download

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/spf13/afero"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/rules/night"
	"example.com/ftpfetch/testserver"
)

var (
	soakFiles = flag.Int("soak.files", night.Or(15, 200), "files of TestSoak")
	soakSeed  = flag.Uint64("soak.seed", 1, "seed of TestSoak")
)

// soakRuns is how often a file is tried before the server becomes honest.
const soakRuns = 3

// TestSoak retrieves files from a server that fails at random in every way. Each
// run must end with the right bytes under the final name, or with an error and no
// such file. Once the server is honest, the next run must succeed.
func TestSoak(t *testing.T) {
	failed := 0
	for i := range *soakFiles {
		s := newSoak(t, *soakSeed, uint64(i))
		for run := 0; !s.finished; run++ {
			if run > soakRuns {
				t.Fatalf("seed %d file %d: still failing on an honest server: %v", *soakSeed, i, s.last)
			}
			if run == soakRuns {
				s.mu.Lock()
				s.budget = 0
				s.mu.Unlock()
			}
			s.run(t, fmt.Sprintf("seed %d file %d run %d", *soakSeed, i, run))
		}
		failed += s.failed
		s.server.Close()
	}
	t.Logf("seed %d: %d files right, %d runs ended with an error", *soakSeed, *soakFiles, failed)
}

// soak is one file on a server of its own.
type soak struct {
	dir      string
	server   *testserver.Server
	fs       afero.Fs
	rng      *rand.Rand // for the runs
	finished bool
	failed   int
	last     error

	mu       sync.Mutex // guards the server's side, below
	faultRNG *rand.Rand
	budget   int
	blind    map[int]bool // connections on which SIZE was refused
	versions map[string]bool
	current  string
	version  int
	timeless bool // MDTM was refused, so a client cannot tell another file of the same size
	log      []string
}

func newSoak(t *testing.T, seed, file uint64) *soak {
	t.Helper()
	s := &soak{
		dir: t.TempDir(), fs: afero.NewMemMapFs(), rng: rand.New(rand.NewPCG(seed, 2*file)), faultRNG: rand.New(rand.NewPCG(seed, 2*file+1)),
		blind: map[int]bool{}, versions: map[string]bool{},
	}
	s.budget = s.rng.IntN(25)
	size := 1000 + s.rng.IntN(300_000)
	if s.rng.IntN(2) == 0 {
		size = 2<<20 + s.rng.IntN(4<<20)
	}
	s.server = testserver.New(t, &testserver.Options{FS: s.fs, Fault: s.fault})
	s.replace(size)
	return s
}

// replace puts a new version of the file on the server, with a time of its own.
func (s *soak) replace(size int) {
	s.version++
	s.current = noise(size, uint64(s.version)<<8|uint64(s.budget&0xff))
	s.versions[s.current] = true
	when := kitTime.Add(time.Duration(s.version) * time.Minute)
	err := errors.Join(afero.WriteFile(s.fs, "/new", []byte(s.current), 0o644), s.fs.Chtimes("/new", when, when), s.fs.Rename("/new", "/f"))
	if err != nil {
		panic(err)
	}
}

// fault decides what goes wrong with a command.
func (s *soak) fault(p *testserver.Conn) testserver.Action {
	s.mu.Lock()
	defer s.mu.Unlock()
	odds := map[string]float64{"RETR": 0.7, "REST": 0.2}[p.Verb]
	if odds == 0 {
		odds = 0.07 // a transfer asks many questions before its data
	}
	if s.budget == 0 || s.faultRNG.Float64() >= odds {
		return nil
	}
	kind, f := s.choose(p)
	if kind != "" {
		s.log = append(s.log, fmt.Sprintf("%d: %s %s (transfer %d): %s", p.Num, p.Verb, p.Arg, p.Transfer, kind))
		s.budget--
	}
	return f
}

// choose picks a fault that fits the command, or "".
func (s *soak) choose(p *testserver.Conn) (string, testserver.Action) {
	pick := func(n int) int { return s.faultRNG.IntN(n) }
	switch p.Verb {
	case "":
		return "421 greeting", testserver.Do(testserver.Reply("421 Too many connections"), testserver.End(testserver.Closed))
	case "PASS":
		if pick(2) == 0 {
			size := len(s.current)
			if pick(2) == 0 || s.timeless {
				size = len(s.current)/2 + pick(3<<20)
			}
			s.replace(size)
			return "changed file", nil
		}
		return "530 too many users", testserver.Reply("530 Sorry, too many users")
	case "TYPE", "EPSV":
		return "control reset", testserver.End([]testserver.Ending{testserver.Closed, testserver.Reset}[pick(2)])
	case "SIZE":
		if pick(2) == 0 {
			s.blind[p.Num] = true
			return "SIZE refused", testserver.Reply("550 No")
		}
		return "wrong SIZE", testserver.Final(testserver.Reply(fmt.Sprintf("213 %d", max(0, len(s.current)+[]int{-1, 1, -5000, 5000, 1 << 20}[pick(5)]))))
	case "MDTM":
		s.timeless = true
		return "MDTM refused", testserver.Reply("550 No")
	case "REST":
		return "REST refused", testserver.Reply([]string{"502 No", "421 Not now", "450 Busy"}[pick(3)])
	case "RETR":
		return s.chooseData(p, pick)
	}
	return "", nil
}

// chooseData picks a fault for a transfer. The server never both refuses SIZE and
// lies about the end: no client can detect that.
func (s *soak) chooseData(p *testserver.Conn, pick func(int) int) (string, testserver.Action) {
	octets := int64(pick(len(s.current) + 1))
	truth := []string{"", "426 Broken", "451 Broken"}[pick(3)]
	if s.blind[p.Num] && truth == "" {
		truth = "426 Broken"
	}
	var final testserver.Action
	if truth != "" {
		final = testserver.Final(testserver.Reply(truth))
	}
	switch pick(8) {
	case 0, 1, 2:
		kind := "cut, truthful"
		if truth == "" {
			kind = "cut, lying 226"
		}
		return kind, testserver.Do(testserver.Cut(octets, testserver.Closed), final)
	case 3, 4:
		return "data reset", testserver.Do(testserver.Cut(octets, testserver.Reset), final)
	case 5:
		return "stall", testserver.Cut(octets, testserver.Stalled)
	case 6:
		return "no final reply", testserver.Final(testserver.End(testserver.Reset))
	}
	return "4yz", testserver.Reply([]string{"450 Busy", "425 No data connection", "421 Going down"}[pick(3)])
}

// run makes one run with random options and checks its result.
func (s *soak) run(t *testing.T, what string) {
	t.Helper()
	c := &ftpexec.Client{Timeout: 2 * time.Second, ConnectTimeout: 2 * time.Second}
	o := &Options{
		Retries: 1 + s.rng.IntN(6), Segments: []int{1, 1, 3, 5}[s.rng.IntN(4)],
		checkpoint: time.Duration(1+s.rng.IntN(20)) * time.Millisecond,
	}
	var src Source = c
	s.mu.Lock()
	if honest := s.budget == 0; honest && s.rng.IntN(2) == 0 {
		d := sha256.Sum256([]byte(s.current))
		o.Sum = digest.Sum{Algorithm: "sha256", Digest: d[:]}
	}
	s.mu.Unlock()
	path := filepath.Join(s.dir, "f")
	r, err := File(t.Context(), src, urlOf(t, s.server.URL("/f")), path, o)
	s.judge(t, what, path, r, err)
}

func (s *soak) judge(t *testing.T, what, path string, r Result, err error) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	data, rerr := os.ReadFile(path)
	if err != nil {
		s.failed++
		s.last = err
		if !errors.Is(rerr, fs.ErrNotExist) {
			t.Errorf("%s: %v, but a file is there", what, err)
		}
		if errors.Is(err, ErrLocal) || errors.Is(err, ErrDigest) {
			t.Errorf("%s: %v", what, err)
		}
		return
	}
	s.finished = true
	if rerr != nil || !s.versions[string(data)] {
		t.Errorf("%s: %+v, but the file is wrong: %d bytes, %v\n%q", what, r, len(data), rerr, s.log)
	}
	wantNames(t, s.dir, "f")
}
