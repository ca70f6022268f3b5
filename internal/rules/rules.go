// Package rules has no code: its tests hold the rules of the repository, which
// imports are allowed, what tests may not do, and which test stands behind each
// promise of the documents.
package rules
