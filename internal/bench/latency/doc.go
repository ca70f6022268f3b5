// Package latency measures how many sequential round trips ftpfetch and other
// FTP clients need for the same job.
//
// It makes a network of its own: two network namespaces joined by two links.
// Each link is a pair of TUN devices between which this program carries the
// packets. One link delivers them immediately, the other half of -rtt later in
// each direction. Both lead to a vsftpd. TCP handshakes, acknowledgements and
// the closing of connections are delayed like everything else, which a relay in
// user space could not do. Every command runs over both links in turn, and
//
//	(time over the delayed link - least time over the immediate link) / rtt
//
// is the number of round trips that it waited for, one after the other. The
// time that the client spends on starting, cryptography and the disk cancels
// out.
//
// Without root it makes a user namespace and can measure only anonymous logins.
// It uses only addresses of 198.18.0.0/15 (RFC 2544, benchmarks)
// inside the namespaces, which vanish with the program, however it ends.
package latency
