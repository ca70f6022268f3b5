//go:build !linux

package ftpexec

import "os"

// spins returns false: only Linux has splice.
func spins(*os.File) bool { return false }
