// Command latency measures how many sequential round trips ftpfetch and other
// FTP clients need for the same job.
//
// It makes a network of its own: two network namespaces joined by two links.
// Each link is a pair of TUN devices between which this program carries the
// packets, one link at once and the other one half of -rtt later in each
// direction. A vsftpd listens behind both. TCP handshakes, acknowledgements
// and the closing of connections are delayed like everything else, which a
// relay in user space could not do. Every command runs over both links in
// turn, and
//
//	(time over the delayed link - least time over the immediate link) / rtt
//
// is the number of round trips that it waited for, one after the other. What
// the client spends on starting, on cryptography and on the disk cancels out.
//
// Run it as root, from inside the module:
//
//	go run ./internal/bench/latency -rtt 50ms -n 5
//
// Without root it makes a user namespace, where only anonymous logins can be
// measured. The report goes to standard output as Markdown, the progress to
// standard error. Only addresses of 198.18.0.0/15 (RFC 2544, benchmarks) inside
// the namespaces are used, and the namespaces vanish with the program, however it ends.
package main
