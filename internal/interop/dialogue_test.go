//go:build interop

package interop

import (
	"fmt"
	"strings"
	"sync"

	"example.com/ftpfetch/ftpexec"
)

// dialogue records what a client and a server said, for a test that fails.
type dialogue struct {
	mu   sync.Mutex
	text strings.Builder
}

func (d *dialogue) add(e ftpexec.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fmt.Fprintf(&d.text, "%s %q\n", e.Mark, e.Text)
}

func (d *dialogue) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.String()
}
