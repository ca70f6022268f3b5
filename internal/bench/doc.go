// Command bench compares ftpfetch with other FTP clients. It makes every table of
// docs/exactness.md and docs/performance.md and writes it there, with the machine,
// the versions and the command lines:
//
//	go run ./internal/bench                      # everything: half an hour on an idle machine
//	go run ./internal/bench -only exact,start    # only these tables
//	go run ./internal/bench -short               # everything small, and nothing is written
//
// It needs Linux and, for the tables that measure, root or user namespaces. As root
// on Debian it installs the clients and servers that are missing.
//
// With the name of a benchmark and its flags it prints a report and writes nothing:
//
//	go run ./internal/bench many -case 4 -size 64
package main
