// Package exact finds out which FTP clients do what a URL says. It gives telling URLs to ftpfetch, curl, wget,
// lftp, aria2 and tnftp, records what a server receives, and compares that with the plan of RFC 1738 section 3.2.2. It
// prints a Markdown table, without the clients that are not installed.
package exact
