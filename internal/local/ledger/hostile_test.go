package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
)

// TestHostileLines reads ledgers full of lines that are not records, between two records that must count.
func TestHostileLines(t *testing.T) {
	size := night.Or(1, 32) << 18
	for _, piece := range []string{"\n", "{\n", "{}\n", "[", `{"path":`, `{"path":"a"`, `"`, "x", "\x00\n", "null\n", `{"path":["a"]}` + "\n", `{"path":"b","size":-1}` + "\n", `{"path":"b","size":1e400}` + "\n",
		`{"path":"b","url":{}}` + "\n", `{"path":"b","raw":"!"}` + "\n", `{"path":"` + strings.Repeat("c", maxRecord) + `"}` + "\n", strings.Repeat("[", maxRecord-10) + "\n"} {
		r := newRoom(t)
		l := r.open(Name)
		r.add(l, "first", 1)
		f := must.Get(os.OpenFile(filepath.Join(r.dir, Name), os.O_WRONLY|os.O_APPEND, 0))(t)
		for n := 0; n < size; n += len(piece) * (1 + 1<<16/len(piece)) {
			_, err := f.WriteString(strings.Repeat(piece, 1+1<<16/len(piece)))
			must.Do(t, err)
		}
		must.Do(t, f.Close())
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		next := r.open(Name)
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > uint64(200*size) || len(next.read) > 3+size/len(piece) {
			t.Errorf("%.20q: %d bytes are allocated, %d records", piece, after.TotalAlloc-before.TotalAlloc, len(next.read))
		}
		r.has(next, "first", 1, true)
		r.add(next, "last", 2)
		r.has(r.open(Name), "last", 2, true)
	}
}

// TestNumbers reads records with every kind of size and time. Only the record with the file's size and time may count.
func TestNumbers(t *testing.T) {
	r := newRoom(t)
	for _, size := range []string{"0", "-1", "5", "2147483648", "4294967296", "4611686018427387904", "9223372036854775807", "9223372036854775808", "18446744073709551616", strings.Repeat("9", 40), `"5"`, "5.0", "5e0", "null"} {
		for _, at := range []string{modified.Format(time.RFC3339), "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "292277026596-12-04T15:30:07Z", "", "-1", "0001-01-01T00:00:00Z"} {
			text := fmt.Sprintf(`{"path":"a","url":%q,"size":%s,"modified":%q}`+"\n", "ftp://h/f", size, at)
			must.Do(t, os.WriteFile(filepath.Join(r.dir, Name), []byte(text), 0o600))
			l := r.open(Name)
			_, got := l.Find("a", file{size: 5, time: modified})
			if want := size == "5" && strings.HasPrefix(at, "20"); got != want {
				t.Errorf("%s: %v", text, got)
			}
			l.Close()
		}
	}
}
