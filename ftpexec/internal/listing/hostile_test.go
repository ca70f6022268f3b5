package listing

import (
	"strings"
	"testing"
	"time"
)

// No line takes more than linear time: of those of quadratic time some would take minutes.
func TestLinear(t *testing.T) {
	const most = 3 * time.Second // of one line, on a busy machine
	long := func(s string) string { return strings.Repeat(s, 1<<15/len(s)) }
	for _, start := range []string{"", "-rw-r--r-- 1 root root 5 ", "-rw-r--r-- 1 root root 5 Jan  2 15:04 ", "01-02-06  03:04PM ", "+", "A;1 ", "QSYS ", "X JOB00001 ",
		"A B V 1 1 1 ", " 512 Jan-01-1980 ", "WYOSPT 3420   2003/05/21 ", "Migrated ", "lrwxrwxrwx 1 root root 5 Jan  2 15:04 "} {
		for _, middle := range []string{" ", "1", "1 ", "a", "a ", ",", ";1 ", "*A ", "-", "1-1-1 ", "12:34 ", "Jan 2 ", "Jan 2 12:34 ", "\t", " -> ", "月", "\xff", "(", "PS "} {
			line := start + long(middle)
			begin := time.Now()
			item, err := NewReader([]string{line, line}, "", now).LIST(line)
			if took := time.Since(begin); took > most {
				t.Errorf("%q and %d times %q take %v", start, len(line)/len(middle), middle, took)
			}
			check(t, line, item, err)
		}
	}
}
