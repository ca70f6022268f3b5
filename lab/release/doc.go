// Package release tests the contents of a release. The tests run with the build tag release and need git; see
// docs/releasing.md.
package release
