// Package rules has no code. Its tests enforce the rules of the repository: which imports are allowed, what tests may not
// do, and that each promise in the documents names a test that exists.
package rules
