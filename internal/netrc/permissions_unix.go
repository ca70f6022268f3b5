//go:build unix

package netrc

// hasPermissions: the mode of a file tells who may read it.
const hasPermissions = true
