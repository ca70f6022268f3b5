package partfile

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/night"
)

// TestHostileJournals reads journals of the maximum length with hostile contents.
func TestHostileJournals(t *testing.T) {
	const head = `{"ftpfetch":4,"url":"ftp://h/f","size":9223372036854775807,"done":[`
	for kind, block := range map[string]func(i int) string{
		"nested": func(int) string { return "[" }, "objects": func(int) string { return `{"a":` }, "no numbers": func(int) string { return `[[],{},""],` }, "one string": func(int) string { return "x" },
		"empty blocks": func(i int) string { return fmt.Sprintf("[%d,%d,0],", i, i) }, "gaps": func(i int) string { return fmt.Sprintf("[%d,%d,0],", 2*i, 2*i+1) }, "no gaps": func(i int) string { return fmt.Sprintf("[%d,%d,0],", i, i+1) },
		"long blocks": func(i int) string { return fmt.Sprintf("[%d,%d,0,1,2,3],", 2*i, 2*i+1) }, "backwards": func(i int) string { return fmt.Sprintf("[%d,%d,0],", 1e9-i, 1e9-i+1) },
	} {
		var text strings.Builder
		text.WriteString(head)
		n := 0
		for ; text.Len() < night.Or(maxJournal/16, maxJournal-100); n++ {
			text.WriteString(block(n))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := parseJournal([]byte(strings.TrimSuffix(text.String(), ",") + "]}"))
		runtime.ReadMemStats(&after)
		if good := strings.HasSuffix(kind, "gaps"); good != (err == nil) && kind != "long blocks" || after.TotalAlloc-before.TotalAlloc > 300<<20 || good && (s.Done.Octets() != int64(n) || kind == "no gaps" && len(s.Done) != 1) {
			t.Errorf("%s: %v, %d spans of %d blocks, %d MiB", kind, err, len(s.Done), n, (after.TotalAlloc-before.TotalAlloc)>>20)
		}
	}
}

// TestJournalNumbers puts every kind of number into every place of a journal, and checks that the accepted spans are
// within the file.
func TestJournalNumbers(t *testing.T) {
	numbers := []string{"0", "-1", "1", "5", "2147483648", "4294967295", "4294967296", "4611686018427387904", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551616", strings.Repeat("9", 40), "1e3", "1.5", "null"}
	believed := 0
	for _, size := range numbers {
		for _, adopted := range numbers[:night.Or(3, len(numbers))] {
			for _, start := range numbers {
				for _, end := range numbers {
					s, err := parseJournal(fmt.Appendf(nil, `{"ftpfetch":4,"url":"ftp://h/f","size":%s,"adopted":%s,"done":[[%s,%s,0]]}`, size, adopted, start, end))
					if err != nil {
						continue
					}
					believed++
					missing := s.Done.Missing(s.Size)
					if s.Size < 0 || s.Done.End() > s.Size || s.Adopted < 0 || s.Adopted > s.Done.Head() || s.Done.Octets()+missing.Octets() != s.Size || missing.Octets() < 0 {
						t.Errorf("size %s, adopted %s, [%s, %s): %+v", size, adopted, start, end, s)
					}
					if good, _ := s.Blocks.sound(strings.NewReader("contents")); good.spans().End() > 8 {
						t.Errorf("[%s, %s) of 8 bytes are sound: %v", start, end, good)
					}
				}
			}
		}
	}
	if believed == 0 {
		t.Error("no journal is believed")
	}
}
