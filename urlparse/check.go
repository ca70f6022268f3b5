package urlparse

import "strconv"

// Check returns the error that [Parse] would return for a value made by hand: a CR, LF or NUL in a part, a typecode of a
// file without a name, an invalid host, and so on. A URL that passes survives String and Parse. The error is an [*Error]
// whose Input is u.Redacted() and whose column counts in u.String().
func (u *URL) Check() error {
	_, f := host(part{bracket(u.Host), len(u.beforeHost())}) // a delimiter in it would make it another URL
	switch text := (part{s: u.String()}); {
	case !known(u.Scheme):
		f = text.fault(0, "the scheme is none of ftp, ftps and ftpes", `write "ftp"`)
		f.kind = ErrScheme
	case f == nil:
		_, f = ftpurl(text)
	}
	if f == nil {
		return nil
	}
	f.Input = u.Redacted()
	return f
}

// BadPort returns an [*Error] if u's port is that of another well-known protocol (25, 6667, ...), and nil for all others:
// a URL could make an FTP client talk to such a server (RFC 1738 section 6). The error is like that of [URL.Check].
func (u *URL) BadPort() error {
	name, taken := otherPorts[u.Port]
	if !taken {
		return nil
	}
	return &Error{Input: u.Redacted(), column: len(u.beforeHost()+u.host()+":") + 1,
		reason: "port " + strconv.Itoa(u.Port) + " belongs to another protocol (" + name + ")",
		Hint:   "--allow-port (Client.AllowPort) allows it, if an FTP server is there"}
}

// otherPorts are the ports that browsers refuse for any protocol but the port's own (the bad ports of the WHATWG Fetch
// standard), without those of FTP: 20, 21, 989 and 990. RFC 1738 section 6 warns of URLs that make a client send commands
// to such a server.
var otherPorts = map[int]string{
	1: "tcpmux", 7: "echo", 9: "discard", 11: "systat", 13: "daytime", 15: "netstat", 17: "qotd", 19: "chargen",
	22: "ssh", 23: "telnet", 25: "smtp", 37: "time", 42: "name", 43: "nicname", 53: "domain", 69: "tftp", 77: "rje",
	79: "finger", 87: "link", 95: "supdup", 101: "hostname", 102: "iso-tsap", 103: "gppitnp", 104: "acr-nema",
	109: "pop2", 110: "pop3", 111: "sunrpc", 113: "auth", 115: "sftp", 117: "uucp-path", 119: "nntp", 123: "ntp",
	135: "epmap", 137: "netbios-ns", 139: "netbios-ssn", 143: "imap", 161: "snmp", 179: "bgp", 389: "ldap",
	427: "svrloc", 465: "submissions", 512: "exec", 513: "login", 514: "shell", 515: "printer", 526: "tempo",
	530: "courier", 531: "chat", 532: "netnews", 540: "uucp", 548: "afp", 554: "rtsp", 556: "remotefs", 563: "nntps",
	587: "submission", 601: "syslog-conn", 636: "ldaps", 993: "imaps", 995: "pop3s", 1719: "h323gatestat",
	1720: "h323hostcall", 1723: "pptp", 2049: "nfs", 3659: "apple-sasl", 4045: "npp", 4190: "sieve", 5060: "sip",
	5061: "sips", 6000: "x11", 6566: "sane-port", 6665: "irc", 6666: "irc", 6667: "irc", 6668: "irc", 6669: "irc",
	6679: "ircs", 6697: "ircs", 10080: "amanda",
}
