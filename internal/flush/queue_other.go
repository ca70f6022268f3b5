//go:build !linux

package flush

import "os"

func queued([]*os.File, []error) int { return 0 }
