package ftpexec

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"example.com/ftpfetch/urlparse"
)

// wording is a way in which servers say something for which RFC 959 has no code of its own.
type wording struct {
	pattern  func() *regexp.Regexp // of the text in lower case
	examples []example
}

// example is a reply that contains a wording, and the source of that reply.
type example struct{ reply, source string }

func said(text string, examples ...example) wording {
	return wording{lazy(text), examples}
}

// tooMany are the wordings with which servers refuse a connection, a login or a transfer because there are too many.
var tooMany = []wording{
	said(`too many connected users`,
		example{"421 There are too many connected users, please try later.", "vsftpd 3.0.3, max_clients"}),
	said(`too many connections`,
		example{"421 There are too many connections from your internet address.", "vsftpd 3.0.3, max_per_ip"},
		example{"421 Too many connections (8) from this IP", "pure-ftpd 1.0.50, -C"},
		example{"421 Too many connections. Service temporarily unavailable.", "pyftpdlib 1.5.7, max_cons"},
		example{"425 Too many connections. Can't open data channel.", "pyftpdlib 1.5.7, at PASV"}),
	said(`too many (anonymous )?users`,
		example{"421 Too many users are connected, please try again later.", "FileZilla Server 0.9"},
		example{"421 Too many users right now, try again in a few minutes.", "Twisted, twisted.protocols.ftp"},
		example{"530 Too many users logged in for this account. Try again later.", "OpenDirectoryDownloader, FtpParser.cs"}),
	said(`too many transfers`,
		example{"451 RETR: Too many transfers", "proftpd 1.3.8, mod_xfer"}),
	said(`maximum number of (allowed )?(clients|users|hosts|connections|sessions|data transfers)`,
		example{"530 Sorry, the maximum number of clients (10) from your host are already connected.", "proftpd 1.3.8, mod_auth: MaxClientsPerHost, -PerUser, -PerClass"},
		example{"530 Sorry, the maximum number of allowed clients (30) are already connected.", "proftpd 1.3.8, mod_auth: MaxClients"},
		example{"530 Sorry, the maximum number of hosts (2) for this user are already connected.", "proftpd 1.3.8, mod_auth: MaxHostsPerUser"},
		example{"530 Sorry, the maximum number of connections (10) for your host are already connected.", "proftpd 1.3.8, mod_auth: MaxConnectionsPerHost"},
		example{"451 Sorry, the maximum number of data transfers (2) from your host are currently being used.", "proftpd 1.3.8, mod_xfer: MaxTransfersPerHost"}),
	said(`users? \([^)]*\) (are )?already logged in`,
		example{"421 50 users (the maximum) are already logged in, sorry", "pure-ftpd 1.0.50, -c"}),
	said(`can't accept more than \d+ connection`,
		example{"421 I can't accept more than 2 connections as the same user", "pure-ftpd 1.0.50, -y"}),
	said(`maximum (anonymous )?login limit has been reached`,
		example{"421 Maximum anonymous login limit has been reached.", "Apache FtpServer, FtpStatus.properties"}),
	said(`no more connections allowed`,
		example{"421 Refusing connection. No more connections allowed from your IP.", "FileZilla Server 0.9, ControlSocket.cpp"}),
	said(`only (\d+|one) sessions? from same ip`,
		example{"530 Not logged in, only 3 sessions from same IP allowed concurrently.", "Serv-U 6"},
		example{"530 Not logged in, only one session from same IP allowed at a time.", "Serv-U 6"}),
	said(`may not connect more than \d+ times`,
		example{"530 Sorry, your system may not connect more than 2 times.", "OpenDirectoryDownloader, FtpParser.cs"}),
	said(`maximum clients reached`,
		example{"421 Maximum clients reached, service unavailable.", "Windows NT 3.1 (Microsoft KB Q103074), JP1/FTP"}),
	said(`max(imum)? \d+ users`,
		example{"530 Sorry, max 40 users -- try again later", "ftp.ptree.jaxa.jp (zxdawn/Himawari-8-gridded, issue 3)"}),
	said(`exceeded the (maximum )?number of connections`,
		example{"530 Sorry, you have exceeded the number of connections.", "juftin/browsr, issue 26"}),
	said(`(connection|session|client|user) limit`,
		example{"421 Connection limit reached", "a scanner's list of banners"}),
}

// tlsRequired are the wordings with which servers refuse clients that do not use TLS.
var tlsRequired = []wording{
	said(`(ssl|tls) (is )?required`,
		example{"550 SSL/TLS required on the control channel", "proftpd 1.3.8, mod_tls: TLSRequired"},
		example{"421 TLS is required", "ftpserverlib 0.32.3, MandatoryEncryption"},
		example{"421 unable to open transfer: TLS is required", "ftpserverlib 0.32.3, at RETR"},
		example{"530 SSL required", "FileZilla Server 0.9, at USER"},
		example{"530 SSL is required to connect to this account.", "BrickFTP (Files.com)"}),
	said(`must use encryption`,
		example{"530 Non-anonymous sessions must use encryption.", "vsftpd 3.0.3, force_local_logins_ssl"}),
	said(`data connections must be encrypted`,
		example{"522 Data connections must be encrypted.", "vsftpd 3.0.3, force_local_data_ssl, at PASV and RETR"}),
	said(`cleartext sessions (and weak ciphers )?are not accepted`,
		example{"421-Sorry, cleartext sessions and weak ciphers are not accepted on this server.\r\n421 Please reconnect using TLS security mechanisms.", "pure-ftpd 1.0.50, -Y 2"},
		example{"421 Cleartext sessions are not accepted", "CycloneTCP, ftp_server_commands.c"}),
	said(`not allow plain ftp`,
		example{"530 This server does not allow plain FTP. You have to use FTP over TLS.", "FileZilla Server 0.9.60"}),
	said(`use auth (tls )?first`,
		example{"503 Use AUTH first.", "FileZilla Server 1, at USER"},
		example{"530 Use AUTH TLS first.", "package testserver"}),
	said(`prot p required`,
		example{"521 PROT P required", "FileZilla Server 0.9, at RETR"}),
	said(`(requires|must use|have to use) (explicit |implicit )?(ftp over )?(ssl|tls|encryption)`,
		example{"534 Policy requires SSL.", "IIS 7 to 10"}),
	said(`(need|requires?) (a )?(secure|protected|encrypted) (data )?connection`,
		example{"530 Not logged in, need secure connection.", "Serv-U 6"},
		example{"425-Server requires protected data connection.\r\n425 Can't open data connection.", "miner/clj-ftp, pull request 18"}),
	said(`secure data connection required`,
		example{"534 Secure data connection required.", "Serv-U 6"}),
}

// partial are the wordings with which servers say that they have not listed all of a directory, although the code is 226.
var partial = []wording{
	said(`(?m)^(226[ -])?(output truncated to|data afrundet til|anzeige auf|salida truncada a|sortie tronquee a|je t'en file|kimenet|`+
		`output troncato a|output afgekort naar|resultat er avkortet til|wyj.cie obci.te do|resultado truncado em|rezultat trunchiat la|`+
		`v.stup (zkr.cen|skrateny) na|rezultati i shkurtuar ne|utdata trunkeras till|.+kt. k.saltmas.) \d+`,
		example{"226-Options: -a -l \r\n226 Output truncated to 10000 matches", "pure-ftpd 1.0.53, messages_en.h: LimitRecursion"},
		example{"226 V\xfdstup zkr\xe1cen na 2000 shod", "pure-ftpd 1.0.53, messages_cs_cz.h"}),
	said(`(?m)^(226[ -])?(out of memory|read error) during globbing of`,
		example{"226 Read error during globbing of *", "pure-ftpd 1.0.53, ls.c"}),
}

// encryption is what a server that refuses a login may want, if none of tlsRequired says so.
var encryption = lazy(`\b(ssl|tls|ftps|ftpes|encrypt|secure)`)

func oneOf(wordings []wording, text string) bool {
	return slices.ContainsFunc(wordings, func(w wording) bool { return w.pattern().MatchString(text) })
}

// readLimits looks in the text of the reply to op for the causes that have no code of their own. secure reports whether
// the control connection is under TLS.
func (e *Error) readLimits(op Command, secure bool) {
	if e.Reply == nil || e.Reply.Code < 400 {
		return
	}
	text := says(e.Reply, op.Arg)
	switch {
	case !secure && oneOf(tlsRequired, text):
		if e.Err == ErrLost { // the server said why it closed the connection
			if _, e.Err = refusal(op, e.Reply); e.Err == nil {
				e.Err = ErrLost
			}
		}
		e.Err, e.Hint = and(e.Err, ErrTLSRequired), "write ftpes:// in place of ftp://"
	case !secure && e.Stage <= StageLogin && e.Stage != StageOther && encryption().MatchString(text), !secure && e.Reply.Code == 534:
		e.Hint = "if the server asks for TLS, write ftpes:// in place of ftp://"
	case (e.Reply.Code == 421 || e.Stage != StageDirectory && op.Verb != "TYPE") && oneOf(tooMany, text):
		e.Err = and(e.Err, ErrTooMany)
	case e.Reply.Code == 421 || e.Stage != StageDirectory && e.Stage != StageTransfer:
	case denied().MatchString(text):
		e.means = fs.ErrPermission
	case e.Stage == StageDirectory && absent().MatchString(text):
		e.means = fs.ErrNotExist
	}
}

var (
	absent = lazy(`no such|not found|not exist|cannot find`)
	denied = lazy(`denied|permission|not permitted`)
	// A 226 of vsftpd, and of pure-ftpd ("Sorry, we were unable to read [.]").
	unopened = lazy(`(?m)^(226[ -])?(transfer done \(but failed to open directory|sorry, we were unable to read \[)`)
	aborted  = lazy(`^transfer (aborted|failed)`) // of uFTP, which sends that with 226
)

// inOneStep returns the hint for a refused CWD that is not the last: the inner directory may be accessible although the
// outer one is not. The hint is u's path with all directories from the refused one, u.Dirs[i], in one CWD. It is "" if
// the server says that the directory does not exist, or if one CWD would lead elsewhere.
func inOneStep(u *urlparse.URL, i int, r *Reply) string {
	if r == nil || r.Code/10 != 55 || i < 0 || len(u.Dirs)-i < 2 {
		return ""
	}
	text, inner := says(r, u.Dirs[i]), u.Dirs[i]
	if absent().MatchString(text) {
		return ""
	}
	for _, dir := range u.Dirs[i+1:] {
		if dir == "" || strings.HasPrefix(dir, "/") {
			return ""
		}
		inner = strings.TrimSuffix(inner, "/") + "/" + dir
	}
	v := *u
	v.Dirs = append(slices.Clone(u.Dirs[:i]), inner)
	return "if only the inner directory is accessible, write " + v.Path() + " to enter it in one step"
}
