//go:build !unix

package main

// freeIn returns the bytes that are free on the disk of a directory; -1: unknown.
func freeIn(string) int64 { return -1 }
