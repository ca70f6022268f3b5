// Package rules has no code. Its tests enforce rules of the repository: which imports are allowed, what files must not
// contain, what the public packages export, and that the programs of README.md work.
package rules
