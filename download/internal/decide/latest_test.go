package decide

import (
	"testing"
	"time"
)

// TestLatest compares the server's times with what file systems make of times that they cannot keep. Such a file of the
// same size is not retrieved again by -N.
func TestLatest(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
	n := 0
	for _, limit := range latestTimes {
		for _, here := range []int64{limit - 1, limit, limit + 2} {
			for _, there := range []int64{limit - 1, limit, limit + 1, limit + 3600, 253402300799} {
				for _, size := range []int64{3, 4} {
					n++
					f := Facts{Flags: Flags{Existing: Newer}, Here: Regular, Ours: true, Want: -1, Listed: Unknown, Asked: true,
						Local: Stamp{Size: 3, Time: at(here)}, Server: Stamp{Size: size, Time: at(there)}}
					leaves := size == 3 && (there <= here || here == limit)
					for f.Part.Claimed = true; ; f.Part.Checked = true {
						a := Next(&f)
						if a.Do != AskBlocks && a.Do != AskPart {
							if got := a.Do == Leave; got != leaves {
								t.Errorf("%s here, %s and %d bytes on the server: stays %v, want %v", at(here), at(there), size, got, leaves)
							}
							break
						}
					}
				}
			}
		}
	}
	t.Logf("%d pairs of times", n)
}
