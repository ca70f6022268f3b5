package ftpexec

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/rules/night"
	"example.com/ftpfetch/urlparse"
)

// replies are what servers say, and the sources.
var replies = map[meaning][]struct{ reply, source string }{
	full: {
		{"421 There are too many connected users, please try later.", "vsftpd 3.0.3, max_clients"},
		{"421 There are too many connections from your internet address.", "vsftpd 3.0.3, max_per_ip"},
		{"421 Too many connections (8) from this IP", "pure-ftpd 1.0.50, -C"},
		{"421 Too many connections. Service temporarily unavailable.", "pyftpdlib 1.5.7, max_cons"},
		{"425 Too many connections. Can't open data channel.", "pyftpdlib 1.5.7, at PASV"},
		{"421 Too many users are connected, please try again later.", "FileZilla Server 0.9"},
		{"421 Too many users right now, try again in a few minutes.", "Twisted, twisted.protocols.ftp"},
		{"530 Too many users logged in for this account. Try again later.", "OpenDirectoryDownloader, FtpParser.cs"},
		{"451 RETR: Too many transfers", "proftpd 1.3.8, mod_xfer"},
		{"530 Sorry, the maximum number of clients (10) from your host are already connected.", "proftpd 1.3.8, mod_auth: MaxClientsPerHost, -PerUser, -PerClass"},
		{"530 Sorry, the maximum number of allowed clients (30) are already connected.", "proftpd 1.3.8, mod_auth: MaxClients"},
		{"530 Sorry, the maximum number of hosts (2) for this user are already connected.", "proftpd 1.3.8, mod_auth: MaxHostsPerUser"},
		{"530 Sorry, the maximum number of connections (10) for your host are already connected.", "proftpd 1.3.8, mod_auth: MaxConnectionsPerHost"},
		{"451 Sorry, the maximum number of data transfers (2) from your host are currently being used.", "proftpd 1.3.8, mod_xfer: MaxTransfersPerHost"},
		{"421 50 users (the maximum) are already logged in, sorry", "pure-ftpd 1.0.50, -c"},
		{"421 I can't accept more than 2 connections as the same user", "pure-ftpd 1.0.50, -y"},
		{"421 Maximum anonymous login limit has been reached.", "Apache FtpServer, FtpStatus.properties"},
		{"421 Refusing connection. No more connections allowed from your IP.", "FileZilla Server 0.9, ControlSocket.cpp"},
		{"530 Not logged in, only 3 sessions from same IP allowed concurrently.", "Serv-U 6"},
		{"530 Not logged in, only one session from same IP allowed at a time.", "Serv-U 6"},
		{"530 Sorry, your system may not connect more than 2 times.", "OpenDirectoryDownloader, FtpParser.cs"},
		{"421 Maximum clients reached, service unavailable.", "Windows NT 3.1 (Microsoft KB Q103074), JP1/FTP"},
		{"530 Sorry, max 40 users -- try again later", "ftp.ptree.jaxa.jp (zxdawn/Himawari-8-gridded, issue 3)"},
		{"530 Sorry, you have exceeded the number of connections.", "juftin/browsr, issue 26"},
		{"421 Connection limit reached", "a scanner's list of banners"},
		{"421 Service busy: Connection limit exceeded. Please try again later. Closing control connection.", "Globus GridFTP"},
	},
	needsTLS: {
		{"550 SSL/TLS required on the control channel", "proftpd 1.3.8, mod_tls: TLSRequired"},
		{"522 SSL/TLS required on the data channel", "proftpd 1.3.8, mod_tls: TLSRequired"},
		{"421 TLS is required", "ftpserverlib 0.32.3, MandatoryEncryption"},
		{"421 unable to open transfer: TLS is required", "ftpserverlib 0.32.3, at RETR"},
		{"530 SSL required", "FileZilla Server 0.9, at USER"},
		{"530 SSL is required to connect to this account.", "BrickFTP (Files.com)"},
		{"530 Non-anonymous sessions must use encryption.", "vsftpd 3.0.3, force_local_logins_ssl"},
		{"522 Data connections must be encrypted.", "vsftpd 3.0.3, force_local_data_ssl, at PASV and RETR"},
		{"421-Sorry, cleartext sessions and weak ciphers are not accepted on this server.\r\n421 Please reconnect using TLS security mechanisms.", "pure-ftpd 1.0.50, -Y 2"},
		{"421 Cleartext sessions are not accepted", "CycloneTCP, ftp_server_commands.c"},
		{"530 This server does not allow plain FTP. You have to use FTP over TLS.", "FileZilla Server 0.9.60"},
		{"503 Use AUTH first.", "FileZilla Server 1, at USER"},
		{"530 Use AUTH TLS first.", "package testserver"},
		{"521 PROT P required", "FileZilla Server 0.9, at RETR"},
		{"534 Policy requires SSL.", "IIS 7 to 10"},
		{"530 Not logged in, need secure connection.", "Serv-U 6"},
		{"425-Server requires protected data connection.\r\n425 Can't open data connection.", "miner/clj-ftp, pull request 18"},
		{"534 Secure data connection required.", "Serv-U 6"},
	},
	empty: {
		{"550 No files found.", "GNU inetutils, NetKit and the BSDs, ftpd.c: send_file_list"},
		{"550 No files found", "proftpd 1.2, mod_ls.c: NLST"},
		{"450 No files found", "Breezy, transport/ftp: xs4all's server"},
		{"550 No members found.", "z/OS; FileZilla, ftpcontrolsocket.cpp"},
		{"550 No data sets found.", "z/OS; FileZilla, ftpcontrolsocket.cpp"},
	},
	unopened: {
		{"226 Transfer done (but failed to open directory).", "vsftpd 3.0.3"},
		{"226-Sorry, we were unable to read [.]\r\n226 0 matches total", "pure-ftpd 1.0.53"},
		{"226-konnte [.] nicht lesen.\r\n226 0 Eintr\u00e4ge gesamt.", "pure-ftpd 1.0.54, messages_de.h"},
		{"226-Kunne ikke l\xe6se [.]\r\n226-Options: -a -l \r\n226 0 sammenfald totalt", "pure-ftpd 1.0.54, messages_da.h"},
	},
	partial: {
		{"226-Options: -a -l \r\n226 Output truncated to 10000 matches", "pure-ftpd 1.0.53, messages_en.h: LimitRecursion"},
		{"226 V\xfdstup zkr\xe1cen na 2000 shod", "pure-ftpd 1.0.53, messages_cs_cz.h"},
		{"226 \xf7\xd9\xd7\xcf\xc4 \xcf\xc2\xd2\xc5\xda\xc1\xce \xc4\xcf 10000 \xd3\xcf\xd7\xd0\xc1\xc4\xc5\xce\xc9\xca", "pure-ftpd 1.0.54, messages_ru.h, in KOI8-R"},
		{"226 10000 \xb0\xb3\xc0\xc7 \xb0\xe1\xb0\xfa \xc7\xa5\xbd\xc3", "pure-ftpd 1.0.54, messages_kr.h, in EUC-KR"},
		{"226 \xca\xe4\xb3\xf6\xbd\xd8\xb6\xcc\xb5\xbd 10000 \xb7\xfb\xba\xcf", "pure-ftpd 1.0.54, messages_zh_cn.h, in GBK"},
		{"226 \xbf\xe9\xa5X\xbaI\xb5u\xa8\xec 10000 \xb2\xc5\xa6X", "pure-ftpd 1.0.54, messages_zh_tw.h, in Big5"},
		{"226 Вывод обрезан до 10000 совпадений", "the same, converted"},
		{"226 输出截短到 10000 符合", "the same, converted"},
		{"226 10000 개의 결과 표시", "the same, converted"},
		{"226 Read error during globbing of *", "pure-ftpd 1.0.53, ls.c"},
	},
	aborted: {{"226 Transfer aborted.", "uFTP"}, {"226 Transfer failed", "uFTP"}},
	done:    {{"200 mlsd transfer done", "aioftp"}},
	absent: {
		{"550 No such file or directory", "strerror(3)"},
		{"550 The system cannot find the file specified. ", "IIS"},
		{"550 path does not exists", "aioftp"},
		{"550 File not found", "Serv-U"},
		{"500-Command failed.\r\n500-open: No such file or directory\r\n500 End.", "Globus GridFTP"},
	},
	denied: {
		{"550 Permission denied", "strerror(3)"},
		{"550 Access is denied. ", "IIS"},
		{"553 f: Operation not permitted", "strerror(3)"},
	},
}

func repliesOf(m meaning) (all []string) {
	for _, r := range replies[m] {
		all = append(all, r.reply)
	}
	return all
}

// The replies of three meanings, for package ftpexec_test.
var (
	TooManyReplies     = repliesOf(full)
	TLSRequiredReplies = repliesOf(needsTLS)
	PartialReplies     = repliesOf(partial)
)

// said returns the reply to op, a command about url.
func said(op Command, url, text string) answer {
	u, err := urlparse.Parse(url)
	if err != nil {
		panic(err)
	}
	return answerTo(op, reply(strings.ReplaceAll(text, "\r\n", "\n")), u, place{})
}

// meanings returns what a reply means.
func meanings(r answer) (all []meaning) {
	for m := full; m <= denied; m++ {
		if r.means(m) {
			all = append(all, m)
		}
	}
	return all
}

// Every reply has its own meaning alone, and every wording is in a reply.
func TestWordings(t *testing.T) {
	used := map[int]bool{}
	for m, list := range replies {
		for _, r := range list {
			if got := meanings(said(Command{Verb: "LIST"}, "ftp://h/d/", r.reply)); !slices.Equal(got, []meaning{m}) {
				t.Errorf("%q means %v, want %v", r.reply, got, m)
			}
			it := said(Command{}, "ftp://h/", r.reply)
			for i, w := range wordings {
				used[i] = used[i] || w.pattern().MatchString(it())
			}
		}
	}
	for i, w := range wordings {
		if !used[i] {
			t.Errorf("no reply for wording %d, which means %v", i, w.meaning)
		}
	}
}

// Servers use similar words for other things.
func TestNoSuchWording(t *testing.T) {
	for _, text := range []string{
		"421 Too many authentication failures", "530 Not logged in, too many tries with incorrect password.", "530 Maximum login attempts. Disconnecting.",
		"530 Maximum number of login attempts exceeded", "501 Too many parameters", "550 /a: Too many levels of symbolic links", "550 Too many open files",
		"421 Login timeout (60 seconds): closing control connection", "530 Login incorrect.", "550 Sorry, maximum number of GETs reached for this session.",
		"530 Anonymous sessions may not use encryption.", "234 AUTH TLS OK.", "534 Fallback to [C]", "522 SSL connection failed: session reuse required",
		"425 No data connection", "500 TLS not understood", "550 disk full, empty the trash", "550 Directory not empty", "226 No files found.",
		"550 No files found; the disk is broken", "550 No files found in the cache", "451 No files found", "226 Transfer done", "500 RETR: command not found",
		"226 10000 \xd3\xcf\xd7\xd0\xc1\xc4\xc5\xce\xc9\xca", "226 10000 \xb0\xa1 \xc0\xcf\xc4\xa1\xb5\xca", "226 \xd7\xdc\xb9\xb2 10000 \xb7\xfb\xba\xcf", "226 \xc1`\xa6@ 10000 \xb2\xc5\xa6X",
		"550 Too many users", "226 Too many users", "200 TLS is required", "550 x/empty: no", "550 SSL/TLS requirements: none",
	} {
		if got := meanings(said(Command{Verb: "LIST"}, "ftp://h/d/", text)); got != nil {
			t.Errorf("%q means %v", text, got)
		}
	}
}

// A name in a reply changes nothing: each wording as a name, wherever servers put one, in every refusal of every command.
func TestNamesAreNoWordings(t *testing.T) {
	const plain = "zzqx" // a name that means nothing
	names := []string{"empty", "no files", "no such file", "a (5 bytes)", "SSL/TLS required", "too many connections", "denied", "Ünïcode: too many users", `a"b`}
	for _, list := range replies {
		for _, r := range list {
			names = append(names, strings.ToValidUTF8(strings.NewReplacer("\r", "", "\n", " ").Replace(r.reply[4:]), "?"))
		}
	}
	places := []string{
		"%s %s: {}", "%s %s", "%s {}: %s", "%s {} (%s)", "%s '%s' {}", "%s \"%s\": {}", "%s {} '%s'", "%s Can't open %s: {}", "%s /home/u/%s: {}", "%s /srv/x y/%s/z: {}",
		"%s /srv/%s {}", "%s stat C:\\x\\%s: {}", "%s ['x', '%s']: {}", "%[1]s-%[2]s\r\n%[1]s {}", "%[1]s-{}\r\n%[1]s %[2]s", "%[1]s-{}\r\n%[1]s-%[2]s\r\n%[1]s End",
	}
	n := 0
	for _, verb := range []string{"CWD", "RETR", "NLST", "LIST", "MLSD", "SIZE", "MDTM", "EPSV"} {
		for _, name := range names {
			escaped := url.PathEscape(name)
			for _, at := range []struct {
				op  Command
				url string
			}{{withArg(verb, name), "ftp://h/d/%s"}, {Command{Verb: verb}, "ftp://h/d/%s/"}, {Command{Verb: verb}, "ftp://h/%s/d/"}, {withArg(verb, "f"), "ftp://h/%s/f"}} {
				for _, place := range places {
					if n++; n%night.Or(81, 1) != 0 {
						continue
					}
					text := []string{"Busy", "Input/output error", "Permission denied"}[n%3]
					code := []string{"421", "450", "500", "530", "550", "226", "534"}[n%7]
					judged := func(name, escaped string) (string, string) {
						op := at.op
						if op.Arg != "" && op.Arg != "f" {
							op.Arg = name
						}
						answer := fmt.Sprintf(strings.ReplaceAll(place, "{}", text), code, name)
						r := said(op, fmt.Sprintf(at.url, escaped), answer)
						e := &Error{Stage: verbs[verb].stage}
						e.take(reply(answer), r)
						e.refuse(op)
						e.readLimits(op, false)
						info := Entry{Size: -1}
						info.opened(r, 0)
						return fmt.Sprint(meanings(r), e.Err, e.Hint, errors.Is(e, fs.ErrPermission), errors.Is(e, fs.ErrNotExist), unlisted(op, e), info), answer
					}
					got, answer := judged(name, escaped)
					if want, _ := judged(plain, plain); got != want && name != text { // the very words of the reply
						t.Errorf("%s of %s: %q is %s, want %s", at.op.line(), at.url, answer, got, want)
					}
				}
			}
		}
	}
	t.Logf("%d replies", n)
}

func TestWordsOf(t *testing.T) {
	for _, tt := range []struct{ text, name, want string }{
		{"f: Too many users", "", "f: too many users"},
		{"Too Many Users: no such file", "too many users", "*: no such file"},
		{"Permission denied", "e", "permission denied"},
		{"e: Permission denied e", "e", "*: permission denied *"},
		{"a/f and f", "f", "* and *"},
		{"f f f", "f", "*"},
		{"can't open 'it's': I can't", "", "can't open *: i can't"},
		{"/a b/no c: Permission denied", "", "* permission denied"},
		{"SSL/TLS required", "", "tls required"},
		{"SSL/TLS required: no", "SSL/TLS required", "*: no"},
	} {
		if got := wordsOf(reply("550 "+tt.text), []string{tt.name}); got != tt.want {
			t.Errorf("%q without %q: got %q, want %q", tt.text, tt.name, got, tt.want)
		}
	}
}
