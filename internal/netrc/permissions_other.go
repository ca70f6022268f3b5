//go:build !unix

package netrc

// hasPermissions: the mode of a file does not tell who may read it.
const hasPermissions = false
