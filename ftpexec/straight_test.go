package ftpexec_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/testserver"
)

// A transfer straight into a file gathers bytes. However few have come, they reach the file before the next ones are
// sent, and the server that sent them has not stalled.
func TestStraightTakesFewBytes(t *testing.T) {
	const contents = "four"
	f := must.Get(os.Create(filepath.Join(t.TempDir(), "f")))(t)
	defer f.Close()
	steps := []testserver.Action{testserver.Reply("150 x")}
	for i := range contents {
		arrived := func() { waitForSize(t, f, i+1) }
		steps = append(steps, testserver.Data(contents[i:i+1]), ftptest.Call(arrived))
	}
	steps = append(steps, testserver.Data("", testserver.Closed), testserver.Reply("226 x"))
	s := testserver.New(t, nil, testserver.Honest(contents).With("SIZE", testserver.Reply("500 x")), testserver.On("RETR", steps...))
	c := ftpexec.Client{Timeout: 500 * time.Millisecond} // as long as a step, after which all that came is taken
	r := must.Get(c.Get(t.Context(), s.URL("/f")))(t)
	defer r.Body.Close()
	must.Get(io.Copy(f, r.Body))(t)
	if got, err := os.ReadFile(f.Name()); string(got) != contents || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// waitForSize waits until f has size bytes.
func waitForSize(t *testing.T, f *os.File, size int) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		info, err := f.Stat()
		if err != nil || info.Size() >= int64(size) || t.Context().Err() != nil {
			return
		}
		<-tick.C
	}
}
