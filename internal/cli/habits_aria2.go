package cli

// aria2Habits are the flags of aria2c 1.36 that are not about BitTorrent, and
// those that are.
var aria2Habits = []habit{
	// Files
	{"-o FILE, --out=FILE", "-o FILE", ""},
	{"-d DIR, --dir=DIR", "-d DIR", ""},
	{"-i FILE, --input-file=FILE", "-i FILE", "options under a URL are not read: see --manifest"},
	{"-c, --continue", "-c", "not needed for what ftpfetch itself left unfinished"},
	{"--checksum=TYPE=DIGEST", "--checksum sha256:HEX", "or another ALGO:HEX"},
	{"-V, --check-integrity, --hash-check-only", "--verify", ""},
	{"--allow-overwrite", "--overwrite", ""},
	{"--auto-file-renaming", needless, "a file that exists is an error; --no-clobber skips it, --overwrite replaces it"},
	{"--conditional-get", "-N", ""},
	{"-R, --remote-time", needless, "a file gets the server's time"},
	{"--remove-control-file", "--no-resume", ""},
	{"--always-resume, --max-resume-failure-tries=N, --auto-save-interval=TIME, --realtime-chunk-checksum", needless,
		"a run resumes from every byte on the disk, which it checks"},
	{"--file-allocation=METHOD, --no-file-allocation-limit=SIZE, --disk-cache=SIZE, --enable-mmap, --max-mmap-limit=SIZE, " +
		"--piece-length=SIZE, --allow-piece-length-change", needless, "the disk is looked after by itself"},
	{"--ftp-type=TYPE", "--type a", "image type is the default"},
	{"-P, --parameterized-uri", lacking, "the shell makes URLs of {1..9} without quotes; --glob takes patterns of names"},
	{"--save-session=FILE, --save-session-interval=TIME, --force-save, --save-not-found, --keep-unfinished-download-result", needless,
		"the same command again fetches the rest"},

	// Connections
	{"-s N, --split=N", "-s N", ""},
	{"-x N, --max-connection-per-server=N", "-s N", "for one file; --per-host N for many"},
	{"-k SIZE, --min-split-size=SIZE", needless, "segments are divided by themselves"},
	{"-j N, --max-concurrent-downloads=N", "-j N", ""},
	{"--optimize-concurrent-downloads", "-j auto", ""},
	{"-Z, --force-sequential", needless, "every URL is a file of its own, one after another unless -j is given"},
	{"-m N, --max-tries=N", "--retries N", "which does not count the first try; a large N instead of 0 for no end"},
	{"--retry-wait=TIME", needless, "a retry waits longer each time"},
	{"--max-file-not-found=N", needless, "a file that is not there is not retried"},
	{"-t TIME, --timeout=TIME", "--timeout TIME", ""},
	{"--connect-timeout=TIME", "--connect-timeout TIME", ""},
	{"--max-download-limit=RATE, --max-overall-download-limit=RATE", "--limit-rate RATE", ""},
	{"--lowest-speed-limit=RATE", "--speed-limit RATE", ""},
	{"--stop=TIME", "--max-time TIME", "for each URL"},
	{"--interface=ADDR", "--bind ADDR", ""},
	{"--disable-ipv6", "-4", ""},
	{"-p, --ftp-pasv", needless, "passive mode is used unless --active is given"},
	{"--ftp-reuse-connection, --reuse-uri", needless, "a connection is used again if it can be"},
	{"--uri-selector=NAME, --stream-piece-selector=NAME, --server-stat-if=FILE, --server-stat-of=FILE, --server-stat-timeout=TIME, " +
		"--async-dns, --async-dns-server=LIST, --enable-async-dns6, --event-poll=NAME, --rlimit-nofile=N, --socket-recv-buffer-size=SIZE, --dscp=N, " +
		"--multiple-interface=LIST", needless, "the network is looked after by itself"},

	// Logins, proxies and TLS
	{"--ftp-user=NAME", "--user NAME", ""},
	{"--ftp-passwd=PASSWORD", "--password-stdin", "with -u NAME; or leave it out to be asked"},
	{"-n, --no-netrc", "--no-netrc", "-n uses the netrc file here"},
	{"--netrc-path=FILE", "--netrc-file FILE", ""},
	{"--all-proxy=URL, --ftp-proxy=URL", "--proxy URL", ""},
	{"--no-proxy=LIST", "--proxy none", "or set NO_PROXY to the list"},
	{"--proxy-method=METHOD", "--proxy-get", "for get; without it http:// proxies are asked for a tunnel"},
	{"--all-proxy-user=NAME, --all-proxy-passwd=PASSWORD, --ftp-proxy-user=NAME, --ftp-proxy-passwd=PASSWORD", needless,
		"both are part of the proxy's URL: --proxy http://NAME:PASSWORD@host:port"},
	{"--ca-certificate=FILE", "--cacert FILE", ""},
	{"--certificate=FILE", "--cert FILE", ""},
	{"--private-key=FILE", "--key FILE", "with --cert FILE"},
	{"--check-certificate", needless, "certificates are checked; --insecure accepts any"},
	{"--min-tls-version=VERSION", needless, "TLS 1.2 and 1.3 are used"},

	// Messages
	{"-q, --quiet", "-q", ""},
	{"-v, --version", "--version", "-v shows the dialogue with the server here"},
	{"-h, --help", "--help", ""},
	{"-l FILE, --log=FILE", "-v", "with 2>FILE; -l lists directories here"},
	{"--log-level=LEVEL, --console-log-level=LEVEL", "-v", ""},
	{"--show-console-readout", "--progress none", "if it is false"},
	{"--summary-interval=TIME, --truncate-console-readout, --human-readable, --enable-color, --download-result=WORD, --max-download-result=N", needless,
		"see --progress"},
	{"--stderr", needless, "messages go to standard error"},
	{"--dry-run", "-I", "--dry-run sends nothing here"},
	{"-D, --daemon", needless, "end the command in & to run it in the background"},
	{"--on-download-start=COMMAND, --on-download-pause=COMMAND, --on-download-stop=COMMAND, --on-download-complete=COMMAND, " +
		"--on-download-error=COMMAND, --stop-with-process=N, --gid=N, --pause", lacking, "--progress json and --report FILE tell what happens"},
	{"--no-conf, --conf-path=FILE", needless, "there is no file of settings"},
	{"--deferred-input", needless, "a list is read as it is needed, once it is known to be right"},

	// Neither FTP nor files
	{"-U NAME, --user-agent=NAME, --referer=URL, --header=TEXT, --http-user=NAME, --http-passwd=PASSWORD, --http-proxy=URL, --http-proxy-user=NAME, " +
		"--http-proxy-passwd=PASSWORD, --https-proxy=URL, --https-proxy-user=NAME, --https-proxy-passwd=PASSWORD, --load-cookies=FILE, " +
		"--save-cookies=FILE, --enable-http-keep-alive, --enable-http-pipelining, --use-head, --http-auth-challenge, --http-no-cache, " +
		"--http-accept-gzip, --content-disposition-default-utf8", needless, "it is about HTTP"},
	{"--enable-rpc, --rpc-listen-port=N, --rpc-user=NAME, --rpc-passwd=PASSWORD, --rpc-max-request-size=SIZE, --rpc-listen-all, " +
		"--rpc-allow-origin-all, --rpc-certificate=FILE, --rpc-private-key=FILE, --rpc-secure, --rpc-save-upload-metadata, --rpc-secret=TOKEN", lacking,
		"ftpfetch is no server"},
	{"-S, --show-files, --max-overall-upload-limit=RATE, -u RATE, --max-upload-limit=RATE, -T FILE, --torrent-file=FILE, --listen-port=N, " +
		"--follow-torrent=WORD, --select-file=N, --seed-time=TIME, --seed-ratio=N, --peer-id-prefix=TEXT, --peer-agent=TEXT, --enable-peer-exchange, " +
		"--enable-dht, --enable-dht6, --dht-listen-port=N, --dht-entry-point=ADDR, --dht-file-path=FILE, --dht-listen-addr6=ADDR, " +
		"--dht-entry-point6=ADDR, --dht-file-path6=FILE, --dht-message-timeout=TIME, -O FILE, --index-out=FILE, --on-bt-download-complete=COMMAND, " +
		"--pause-metadata, --ssh-host-key-md=TEXT, -M FILE, --metalink-file=FILE, --metalink-version=TEXT, --metalink-language=TEXT, " +
		"--metalink-os=TEXT, --metalink-location=TEXT, --follow-metalink=WORD, --metalink-preferred-protocol=NAME, " +
		"--metalink-enable-unique-protocol, --metalink-base-uri=URL, --bt-min-crypto-level=WORD, --bt-require-crypto, " +
		"--bt-request-peer-speed-limit=RATE, --bt-max-open-files=N, --bt-seed-unverified, --bt-hash-check-seed, --bt-max-peers=N, " +
		"--bt-external-ip=ADDR, --bt-tracker-interval=TIME, --bt-stop-timeout=TIME, --bt-prioritize-piece=TEXT, --bt-save-metadata, " +
		"--bt-metadata-only, --bt-enable-lpd, --bt-lpd-interface=NAME, --bt-tracker-timeout=TIME, --bt-tracker-connect-timeout=TIME, " +
		"--bt-tracker=LIST, --bt-exclude-tracker=LIST, --bt-remove-unselected-file, --bt-detach-seed-only, --bt-force-encryption, " +
		"--bt-enable-hook-after-hash-check, --bt-load-saved-metadata", lacking, "it is about another protocol"},
}
