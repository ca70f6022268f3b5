//go:build !unix

package netrc

// hasPermissions says that the mode of a file does not tell who may read it.
const hasPermissions = false
