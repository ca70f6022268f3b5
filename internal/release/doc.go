// Package release has tests of what a release consists of. They run with the build tag release and need git; see
// docs/releasing.md.
package release
