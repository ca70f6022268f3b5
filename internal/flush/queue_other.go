//go:build !linux

package flush

import "os"

type queue struct{}

func (*queue) flush([]*os.File, []error) int { return 0 }
