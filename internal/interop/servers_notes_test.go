//go:build interop

package interop

// notes explain what the tables show. A note about nothing that is measured fails the test.
var notes = []note{
	{"IPv6", "no: 502", nil, "Over IPv6 there is only `EPSV`, which twisted does not know."},
	{"implicit TLS", "no: 503", nil, "aioftp wants a login before `PROT P`; RFC 4217 does not, and ftpfetch does not log in without protection."},
	{"data resume the session, TLS 1.3", "no", []Kind{PureFTPd}, "pure-ftpd sends no ticket of TLS 1.3, and does not insist."},
	{"data without the session", "refused", nil, "By default vsftpd (`require_ssl_reuse`) and proftpd refuse it, after the `150`: `TestTLS`."},
	{"`LIST`", "no", []Kind{Netkit}, "ftpd-ssl runs `ls`, which is not in the directory that an anonymous user is confined to. The listing is empty, and a " +
		"`226` follows it. So ftpfetch takes an empty `LIST` for an empty directory only if `NLST` tells no name either " +
		"(`TestEntriesWays`)."},
	{"`LIST -a` shows them", "no: 550", nil, "aioftp takes `-a` for a name."},
	{"`NLST`", "no", nil, "twisted wants an argument, aioftp has no `NLST`. RFC 959 asks for neither (`TestListWithoutNLST`)."},
	{"a link, as ftpfetch sees it", "?---------", nil, "Of an entry of `NLST` only the name is known."},
	{"`REST` outlasts `EPSV`", "no", nil, "A client that sends `REST` before `EPSV` gets the whole file and may append it to what it has."},
	{"LF in ASCII type", "hangs", nil, "twisted 22.4 on Python 3 fails inside and says nothing. ftpfetch gives up after its timeout."},
	{"LF in ASCII type", "LF", nil, "The bytes of the file, although RFC 959 says CR LF. ftpfetch reads both."},
	{"CR LF in ASCII type", "CR CR LF", nil, "A text that has CR LF on the server's disk grows. Retrieve it in image type."},
	{"files that cannot be retrieved", "", []Kind{Proftpd, Aioftp}, "The server drops spaces at the beginning of a name."},
	{"files that cannot be retrieved", "", []Kind{PureFTPd}, "pure-ftpd refuses control characters."},
	{"files that cannot be retrieved", "", []Kind{Pyftpdlib, Twisted}, "The server knows names as text in UTF-8; a single byte above 7F is none."},
	{"files that cannot be retrieved", "", []Kind{Inetutils, Netkit}, "The server takes FF for an escape of TELNET (RFC 854)."},
	{"files that the listing misses", "no listing", nil, "One name that is not UTF-8 breaks the listing off. ftpfetch reports that, and yields no entry."},
	{"commands sent ahead", "replies out of order", nil, "aioftp runs the commands of a flight at the same time, against RFC 959 section 5.4 (`TestAnomalies`)."},
	{"`EPSV` at the end of the data", "no", []Kind{Aioftp}, "After the first login is given up, as above."},
	{"`RETR` without permission", "the file, ", nil, "The server, or this set-up of it, runs as root."},
	{"one connection more than the limit", "-", nil, "inetutils' and NetKit's ftpd leave that to inetd, ftpserverlib to the program that uses it."},
	{"a client that says nothing for too long", "-", nil, "pure-ftpd counts in minutes."},
	{"a client that says nothing for too long", "`closed`", nil, "The connection ends without a reply."},
}
