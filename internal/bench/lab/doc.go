// Package lab is what the benchmarks of FTP clients share: namespaces of their
// own, links with a delay and a rate, FTP servers, and the running of a client's
// command. It needs Linux.
//
// A benchmark runs twice. The first process ([Program.Outside]) builds ftpfetch
// and starts the second inside new namespaces; the second makes a [Network] and
// starts the servers of a [Site]. They vanish with the program, however it ends.
package lab
