package manifest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
)

// TestHostileProcesses reads the lists of TestHostileLists with 64 MiB each. It reads each list in a process of its
// own, built without the race detector, which may take 100 MiB and 20 seconds of processor time, unless the list really
// has that many files. By day the test reads some of the lists, with 2 MiB each.
func TestHostileProcesses(t *testing.T) {
	if what := os.Getenv("FTPFETCH_HOSTILE"); what != "" {
		words := strings.Split(what, "|")
		items, errs := ways[words[0]](newEndless(heads(t)[words[1]], kinds[words[2]], int64(len(words[3]))<<20), Options{})
		fmt.Printf("%d MiB, %d items, %d errors\n", peak(t), items, len(errs))
		os.Exit(min(items/100_000, 2))
	}
	program := must.Get(os.Executable())(t)
	size := strings.Repeat("M", night.Or(2, 64))
	if len(size) == 64 {
		program = filepath.Join(t.TempDir(), "hostile")
		must.Do(t, exec.Command("go", "test", "-vet=off", "-c", "-o", program, ".").Run())
	}
	nth := 0
	for head := range heads(t) {
		for kind := range kinds {
			for way := range ways {
				if nth++; nth%night.Or(211, 1) != 0 {
					continue
				}
				name := way + "|" + head + "|" + kind + "|"
				large := true
				for try := 0; try < 3 && large; try++ { // on a busy machine the garbage collector may be late
					large = hostile(t, program, name+size) && len(size) == 64
				}
				if large {
					t.Errorf("%s takes too much memory or time", name)
				}
			}
		}
	}
}

// hostile reads a list in a process of its own. It reports whether the process took more than 100 MiB or 20 seconds for
// fewer than 100,000 files.
func hostile(t *testing.T, program, what string) (large bool) {
	c := exec.Command(program, "-test.run", "^TestHostileProcesses$")
	c.Env = append(os.Environ(), "FTPFETCH_HOSTILE="+what)
	out, err := c.Output()
	memory := 0
	_, unread := fmt.Sscanf(string(out), "%d MiB", &memory)
	if unread != nil || c.ProcessState.ExitCode() < 0 {
		t.Errorf("%s: %v, %s", what, err, out)
		return false
	}
	took := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	t.Logf("%s %v, %s", strings.TrimRight(what, "M"), took, out)
	return err == nil && (memory > 100 || took > 20*time.Second)
}

// peak returns the peak memory of this process, in MiB. It does not use getrusage(2), which also counts the memory of
// the parent before exec.
func peak(t *testing.T) (kib int) {
	status := must.Get(os.ReadFile("/proc/self/status"))(t)
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	must.Get(fmt.Sscan(line, &kib))(t)
	return kib >> 10
}
