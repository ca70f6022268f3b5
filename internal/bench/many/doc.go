// Command many measures how fast, and how completely, ftpfetch and other FTP
// clients fetch many files, trees and one large file, at the same cap of
// connections:
//
//  1. a list of 500 files over a link with a round trip of 50 ms
//  2. a list of 10,000 files on loopback
//  3. a tree of 5,000 entries over a link with a tenth of the round trip
//  4. one large file over a link where the TCP window limits a connection
//  5. the list of 1 from servers that allow 3 connections an address
//
// It makes its network and servers as internal/bench/latency does. Every run is
// verified: a client that lost files gets their number instead of a time.
//
// Run it as root, from inside the module; the whole takes about an hour, and
// -case, -clients, -n and -files make it smaller:
//
//	go run ./internal/bench/many
//
// It writes the report to standard output as Markdown, and its progress to
// standard error.
package main
