package listing

import (
	"math"
	"strings"
	"testing"
	"time"
)

// No line takes more than linear time: of those of quadratic time some would take minutes. The machine may be busy with
// something else, so a line has ten attempts.
func TestLinear(t *testing.T) {
	const most = 3 * time.Second // of one line
	long := func(s string) string { return strings.Repeat(s, 1<<15/len(s)) }
	for _, start := range []string{"", "-rw-r--r-- 1 root root 5 ", "-rw-r--r-- 1 root root 5 Jan  2 15:04 ", "01-02-06  03:04PM ", "+", "A;1 ", "QSYS ", "X JOB00001 ",
		"A B V 1 1 1 ", " 512 Jan-01-1980 ", "WYOSPT 3420   2003/05/21 ", "Migrated ", "lrwxrwxrwx 1 root root 5 Jan  2 15:04 "} {
		for _, middle := range []string{" ", "1", "1 ", "a", "a ", ",", ";1 ", "*A ", "-", "1-1-1 ", "12:34 ", "Jan 2 ", "Jan 2 12:34 ", "\t", " -> ", "月", "\xff", "(", "PS "} {
			line := start + long(middle)
			var item Item
			var err error
			took := time.Duration(math.MaxInt64)
			for try := 0; try < 10 && took > most; try++ {
				begin := time.Now()
				item, err = NewReader([]string{line, line}, "", now).LIST(line)
				took = time.Since(begin)
			}
			if took > most {
				t.Errorf("%q and %d times %q take %v", start, len(line)/len(middle), middle, took)
			}
			check(t, line, item, err)
		}
	}
}
