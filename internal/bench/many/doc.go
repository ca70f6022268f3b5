// Package many measures how fast, and how completely, ftpfetch and other FTP
// clients fetch many files, trees and one large file, at the same cap of
// connections:
//
//  1. a list of 500 files over a link with a round trip of 50 ms
//  2. a list of 10,000 files on loopback
//  3. a tree of 5,000 entries over a link with a tenth of the round trip
//  4. one large file over a link where the TCP window limits a connection
//  5. the list of 1 from servers that allow 3 connections an address
//
// It makes its network and servers as package latency does. Every run is
// verified: a client that lost files gets their number instead of a time.
//
// With the defaults of its flags it takes about an hour; -case, -clients, -n and
// -files make it smaller.
package many
