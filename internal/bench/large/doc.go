// Package large measures what ftpfetch and other FTP clients cost: processor time,
// peak memory and time, as ratios to curl's.
//
//  1. one large file, unencrypted
//  2. the same over TLS 1.3
//  3. the start: --version
//  4. a file of 1 byte
//  5. a huge file, with offsets beyond 4 GiB
//  6. the second half of the huge file
//
// The servers are vsftpd on loopback, in namespaces of their own. Every file is
// compared with the served one.
package large
