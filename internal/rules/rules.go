// Package rules has no code. Its tests enforce rules of the repository: which imports are allowed, what no file may say,
// what the public packages export, and that the program of README.md work.
package rules
