// Package docs holds the man page for the command.
package docs

import _ "embed"

// Man is the man page of ftpfetch.
//
//go:embed ftpfetch.1
var Man string
