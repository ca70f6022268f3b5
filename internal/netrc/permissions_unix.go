//go:build unix

package netrc

// hasPermissions says that the mode of a file tells who may read it.
const hasPermissions = true
