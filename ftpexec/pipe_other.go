//go:build !linux

package ftpexec

import "os"

// spins reports pipes that a splice cannot wait for: there is no splice.
func spins(*os.File) bool { return false }
