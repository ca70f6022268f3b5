package cli

// curlHabits are the flags of curl 7.88.
var curlHabits = []habit{
	// Files
	{"-O, --remote-name, --remote-name-all", needless, "a file is saved under its own name"},
	{"-o FILE, --output=FILE", "-o FILE", "\"-\" is standard output"},
	{"--output-dir=DIR", "-d DIR", ""},
	{"--create-dirs", needless, "-d DIR makes DIR"},
	{"-C N, --continue-at=N", "-c", "not needed for what ftpfetch itself left unfinished"},
	{"-r RANGE, --range=RANGE", lacking, "a file is fetched whole, and resumed where it ended"},
	{"-R, --remote-time", needless, "a file gets the server's time"},
	{"-z TIME, --time-cond=TIME", "-N", "which compares with the file that is there"},
	{"--no-clobber", "--no-clobber", "without it a file that exists is an error; --overwrite does as curl does"},
	{"-J, --remote-header-name", needless, "a file is saved under the name in its URL"},
	{"-l, --list-only", needless, "a URL that ends in / lists names; -l lists sizes and times too here"},
	{"-I, --head", "-I", ""},
	{"-B, --use-ascii", "--type a", ""},
	{"-g, --globoff", needless, "* is a pattern only with --glob, and [ and { must be encoded"},
	{"--remove-on-error", "--no-resume", "a failed run leaves NAME.part, never half a NAME"},
	{"--max-filesize=N, --xattr, --create-file-mode=MODE", lacking, "-I tells the size first"},
	{"--url=URL", needless, "a URL needs no flag"},
	{"--path-as-is", needless, "a path is sent as it is"},

	// Messages
	{"-s, --silent", "-q", "-s fetches a file in segments here"},
	{"-S, --show-error", needless, "errors are always shown"},
	{"-f, --fail, --fail-with-body", needless, "a failure always ends in an exit code and no file"},
	{"--fail-early", lacking, "all URLs are tried"},
	{"-#, --progress-bar", "--progress bar", ""},
	{"--no-progress-meter", "-q", ""},
	{"-v, --verbose", "-v", ""},
	{"-i, --include, -D FILE, --dump-header=FILE", "-v", "which writes the server's replies to standard error; -i names a list of URLs here"},
	{"--trace=FILE, --trace-ascii=FILE", "-v", ""},
	{"--trace-time", lacking, ""},
	{"--stderr=FILE", "2>FILE", ""},
	{"-w FORMAT, --write-out=FORMAT", "--progress json", ""},
	{"-N, --no-buffer", needless, "data are not held back; -N replaces only older files here"},
	{"--styled-output, --suppress-connect-headers", needless, "there are no headers"},
	{"-V, --version", "--version", ""},
	{"-h, --help", "--help", ""},
	{"-M, --manual", "--man", ""},

	// Tries and times
	{"--retry=N", "--retries N", ""},
	{"--retry-connrefused", "--retry-connrefused", ""},
	{"--retry-all-errors", lacking, "failures that may pass are retried; repeat the command for others: it resumes"},
	{"--retry-delay=TIME, --retry-max-time=TIME", lacking, "a retry waits longer each time; --max-time limits the whole"},
	{"-m TIME, --max-time=TIME", "--max-time TIME", ""},
	{"--connect-timeout=TIME", "--connect-timeout TIME", ""},
	{"-Y RATE, --speed-limit=RATE", "-Y RATE", ""},
	{"-y TIME, --speed-time=TIME", "-y TIME", ""},
	{"--limit-rate=RATE", "--limit-rate RATE", ""},
	{"--rate=RATE", lacking, "it is about requests; --limit-rate limits bytes"},
	{"-Z, --parallel, --parallel-immediate", "-j N", ""},
	{"--parallel-max=N", "-j N", ""},
	{"-:, --next", lacking, "write two commands"},

	// Connections and logins
	{"-4, --ipv4", "-4", ""},
	{"-6, --ipv6", "-6", ""},
	{"--interface=ADDR", "--bind ADDR", ""},
	{"-P ADDR, --ftp-port=ADDR", "--active", ""},
	{"--ftp-pasv", needless, "passive mode is used unless --active is given"},
	{"--disable-epsv", "--no-epsv", ""},
	{"--ftp-skip-pasv-ip, --disable-eprt, --ftp-pret, --tcp-nodelay", needless, "what works is found out by itself"},
	{"--ftp-method=METHOD", lacking, "each directory is one CWD, as RFC 1738 says; write %2F for a / inside one"},
	{"--ftp-account=NAME", "--account NAME", ""},
	{"-u NAME, --user=NAME", "-u NAME", ""},
	{"-n, --netrc, --netrc-optional", "-n", ""},
	{"--netrc-file=FILE", "--netrc-file FILE", ""},
	{"-x URL, --proxy=URL", "--proxy URL", ""},
	{"--socks5=ADDR, --socks5-hostname=ADDR", "--proxy socks5://ADDR", ""},
	{"--noproxy=LIST", "--proxy none", "or set NO_PROXY to the list"},
	{"-p, --proxytunnel", needless, "http:// proxies are asked for a tunnel"},
	{"-U NAME, --proxy-user=NAME", needless, "both are part of the proxy's URL: --proxy http://NAME:PASSWORD@host:port"},
	{"-Q COMMAND, --quote=COMMAND, --ftp-alternative-to-user=COMMAND, --login-options=TEXT", lacking, "only the commands of --dry-run are sent"},
	{"--no-keepalive, --keepalive-time=TIME, --local-port=N, --resolve=TEXT, --connect-to=TEXT, --happy-eyeballs-timeout-ms=N, --tcp-fastopen, " +
		"--dns-interface=NAME, --dns-ipv4-addr=ADDR, --dns-ipv6-addr=ADDR, --dns-servers=LIST, --doh-url=URL, --doh-insecure, --doh-cert-status, " +
		"--unix-socket=PATH, --abstract-unix-socket=PATH, --socks4=ADDR, --socks4a=ADDR, --preproxy=URL, --socks5-basic, --socks5-gssapi, " +
		"--socks5-gssapi-nec, --socks5-gssapi-service=NAME, --haproxy-protocol, --krb=LEVEL, --delegation=LEVEL", lacking, ""},
	{"--proto=LIST, --proto-default=NAME, --proto-redir=LIST, --disallow-username-in-url", needless, "only ftp://, ftps:// and ftpes:// are read"},

	// TLS
	{"--ssl", "--tls try", ""},
	{"--ssl-reqd", "--tls explicit", "or write ftpes://"},
	{"-k, --insecure", "--insecure", ""},
	{"--cacert=FILE", "--cacert FILE", ""},
	{"-E FILE, --cert=FILE", "--cert FILE", ""},
	{"--key=FILE", "--key FILE", "with --cert FILE"},
	{"--cert-type=TYPE, --key-type=TYPE", needless, "files are in PEM form"},
	{"--tlsv1.2, --tlsv1.3, -1, --tlsv1, --tlsv1.0, --tlsv1.1, -2, --sslv2, -3, --sslv3, --tls-max=VERSION, --ciphers=LIST, --tls13-ciphers=LIST, " +
		"--curves=LIST, --no-alpn, --no-npn, --no-sessionid, --false-start, --ssl-allow-beast", needless, "TLS 1.2 and 1.3 are used"},
	{"--capath=DIR, --crlfile=FILE, --pinnedpubkey=FILE, --cert-status, --pass=PHRASE, --engine=NAME, --egd-file=FILE, --random-file=FILE, " +
		"--ssl-auto-client-cert, --ssl-no-revoke, --ssl-revoke-best-effort, --tlsauthtype=TYPE, --tlsuser=NAME, --tlspassword=PASSWORD, " +
		"--ftp-ssl-ccc, --ftp-ssl-ccc-mode=MODE, --ftp-ssl-control", lacking, "--cacert FILE trusts the authorities in FILE"},
	{"--proxy-anyauth, --proxy-basic, --proxy-cacert=FILE, --proxy-capath=DIR, --proxy-cert=FILE, --proxy-cert-type=TYPE, --proxy-ciphers=LIST, " +
		"--proxy-crlfile=FILE, --proxy-digest, --proxy-header=TEXT, --proxy-insecure, --proxy-key=FILE, --proxy-key-type=TYPE, --proxy-negotiate, " +
		"--proxy-ntlm, --proxy-pass=PHRASE, --proxy-pinnedpubkey=FILE, --proxy-service-name=NAME, --proxy-ssl-allow-beast, " +
		"--proxy-ssl-auto-client-cert, --proxy-tls13-ciphers=LIST, --proxy-tlsauthtype=TYPE, --proxy-tlspassword=PASSWORD, --proxy-tlsuser=NAME, " +
		"--proxy-tlsv1, --proxy1.0=ADDR", lacking, "proxies are socks5:// or http://"},

	// Neither FTP nor files
	{"-L, --location, --location-trusted, --max-redirs=N, --post301, --post302, --post303", needless, "FTP has no redirects"},
	{"-q, --disable, -K FILE, --config=FILE", needless, "there is no file of settings"},
	{"-T FILE, --upload-file=FILE, -a, --append, --ftp-create-dirs, --crlf", lacking, "ftpfetch only retrieves"},
	{"--metalink, --libcurl=FILE", lacking, ""},
	{"-A NAME, --user-agent=NAME, -b TEXT, --cookie=TEXT, -c FILE, --cookie-jar=FILE, -d DATA, --data=DATA, --data-ascii=DATA, --data-binary=DATA, " +
		"--data-raw=DATA, --data-urlencode=DATA, -e URL, --referer=URL, -F DATA, --form=DATA, --form-escape, --form-string=DATA, -G, --get, " +
		"-H TEXT, --header=TEXT, -j, --junk-session-cookies, -X NAME, --request=NAME, --request-target=PATH, --json=DATA, --compressed, --raw, " +
		"--anyauth, --basic, --digest, --negotiate, --ntlm, --ntlm-wb, --oauth2-bearer=TOKEN, --aws-sigv4=TEXT, --alt-svc=FILE, --hsts=FILE, " +
		"--etag-compare=FILE, --etag-save=FILE, --expect100-timeout=TIME, --http0.9, -0, --http1.0, --http1.1, --http2, --http2-prior-knowledge, " +
		"--http3, --http3-only, --ignore-content-length, --tr-encoding, --url-query=DATA", needless, "it is about HTTP"},
	{"-t TEXT, --telnet-option=TEXT, --tftp-blksize=N, --tftp-no-options, --compressed-ssh, --hostpubmd5=HEX, --hostpubsha256=HEX, --pubkey=FILE, " +
		"--mail-auth=ADDR, --mail-from=ADDR, --mail-rcpt=ADDR, --mail-rcpt-allowfails, --sasl-authzid=NAME, --sasl-ir, --service-name=NAME", lacking,
		"it is about another protocol"},
}
