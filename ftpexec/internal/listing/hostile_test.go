package listing

import (
	"math"
	"strings"
	"testing"
	"time"
)

// read reads a line twice, and returns how long the faster one of the two took.
func read(line string) (item Item, took time.Duration, err error) {
	took = math.MaxInt64
	for range 2 {
		begin := time.Now()
		item, err = NewReader([]string{line, line}, "", now).LIST(line)
		took = min(took, time.Since(begin))
	}
	return item, took, err
}

// No line takes more than linear time; in quadratic time some lines would take minutes. The machine may be busy, so a
// line that takes long is compared with one of twice its length, five times if need be. A shorter one would not do:
// package regexp is many times faster with short lines.
func TestLinear(t *testing.T) {
	const most = time.Second / 8 // of one line
	const length = 1 << 13       // of one line
	for _, start := range []string{"", "-rw-r--r-- 1 root root 5 ", "-rw-r--r-- 1 root root 5 Jan  2 15:04 ", "01-02-06  03:04PM ", "+", "A;1 ", "QSYS ", "X JOB00001 ",
		"A B V 1 1 1 ", " 512 Jan-01-1980 ", "WYOSPT 3420   2003/05/21 ", "Migrated ", "lrwxrwxrwx 1 root root 5 Jan  2 15:04 "} {
		for _, middle := range []string{" ", "1", "1 ", "a", "a ", ",", ";1 ", "*A ", "-", "1-1-1 ", "12:34 ", "Jan 2 ", "Jan 2 12:34 ", "\t", " -> ", "月", "\xff", "(", "PS "} {
			times := length / len(middle)
			line := start + strings.Repeat(middle, times)
			item, whole, err := read(line)
			check(t, line, item, err)
			for try := 0; whole > most; try++ { // on a slow machine, or in quadratic time, in which twice the length takes four times as long
				_, twice, _ := read(start + strings.Repeat(middle, 2*times))
				if twice <= 3*whole {
					break
				}
				if try == 4 {
					t.Errorf("%q and %d times %q take %v, twice that %v", start, times, middle, whole, twice)
					break
				}
				_, whole, _ = read(line)
			}
		}
	}
}
