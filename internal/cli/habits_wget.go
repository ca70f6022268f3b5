package cli

// wgetHabits are the flags of wget 1.21.
var wgetHabits = []habit{
	// Files
	{"-O FILE, --output-document=FILE", "-o FILE", "\"-\" is standard output; without it a file is saved under its own name"},
	{"-P DIR, --directory-prefix=DIR", "-d DIR", ""},
	{"-nc, --no-clobber", "--no-clobber", ""},
	{"-c, --continue", "-c", "not needed for what ftpfetch itself left unfinished"},
	{"-N, --timestamping", "-N", "with -c it resumes a partial file too"},
	{"-i FILE, --input-file=FILE", "-i FILE", ""},
	{"-nd, --no-directories", needless, "without -r no directories are made, with -r the tree is kept"},
	{"-nH, --no-host-directories", needless, "no directory for the host is made"},
	{"--cut-dirs=N", needless, "a tree is saved under the last part of its path, or in -d DIR"},
	{"-x, --force-directories, --protocol-directories", lacking, "-d DIR chooses the directory, and --keep-dirs keeps those of a list's URLs"},
	{"--start-pos=N, --backups=N, --xattr, --ignore-case, --restrict-file-names=OS, --no-use-server-timestamps", lacking, "a file is whole, has the server's time and is saved under its own name or that of -o"},
	{"--unlink", needless, "a file that is replaced is never written over"},

	// Trees
	{"-r, --recursive", "-r", "end the URL in /"},
	{"-l N, --level=N", "--depth N", "with -r; it counts the directory itself"},
	{"-m, --mirror", "-r -N", "end the URL in /"},
	{"-np, --no-parent", needless, "a tree stays below its URL"},
	{"-A LIST, --accept=LIST", "--accept GLOB", "with -r or --glob; one pattern each, such as '*.gz'"},
	{"-R LIST, --reject=LIST", "--reject GLOB", "with -r or --glob; one pattern each, such as '*.gz'"},
	{"-X LIST, --exclude-directories=LIST", "--reject GLOB", "with -r or --glob; once for each directory"},
	{"-I LIST, --include-directories=LIST", lacking, "write the URLs of those directories"},
	{"--accept-regex=REGEX, --reject-regex=REGEX, --regex-type=TYPE", lacking, "--accept and --reject take patterns such as '*.gz'"},
	{"--retr-symlinks", "--follow-links", "with -r or --glob"},
	{"--no-remove-listing", needless, "no .listing file is made"},
	{"--no-glob", needless, "* is a pattern only with --glob"},
	{"--preserve-permissions, --delete-after", lacking, "files get the permissions that umask gives, and stay"},
	{"-D LIST, --domains=LIST, --exclude-domains=LIST, -H, --span-hosts, -L, --relative, --follow-ftp", needless, "a tree stays on its server"},

	// Messages
	{"-q, --quiet", "-q", ""},
	{"-nv, --no-verbose", "--progress plain", "no bar, a line for each file"},
	{"-v, --verbose", needless, "-v shows the dialogue with the server here"},
	{"-d, --debug", "-v", ""},
	{"-S, --server-response", "-v", ""},
	{"-o FILE, --output-file=FILE", "2>FILE", "-o names the file to save here"},
	{"-a FILE, --append-output=FILE", "2>>FILE", ""},
	{"--progress=TYPE", "--progress plain", "or bar, json or none"},
	{"--show-progress", "--progress bar", ""},
	{"--spider", "-I", ""},
	{"--rejected-log=FILE, --report-speed=TYPE", lacking, "--report FILE tells what happened to each of many files"},
	{"-V, --version", "--version", ""},
	{"-h, --help", "--help", ""},

	// Tries and times
	{"-t N, --tries=N", "--retries N", "which does not count the first try; a large N instead of 0 for no end"},
	{"--retry-connrefused", "--retry-connrefused", ""},
	{"-T TIME, --timeout=TIME", "--timeout TIME", "--connect-timeout TIME limits connecting"},
	{"--read-timeout=TIME", "--timeout TIME", ""},
	{"--connect-timeout=TIME", "--connect-timeout TIME", ""},
	{"--dns-timeout=TIME", "--connect-timeout TIME", ""},
	{"-w TIME, --wait=TIME, --waitretry=TIME, --random-wait", needless, "a retry waits longer each time, and a server that is full gets fewer connections"},
	{"--limit-rate=RATE", "--limit-rate RATE", ""},
	{"-Q N, --quota=N", lacking, "--depth, --accept and --shard fetch less"},
	{"-b, --background", needless, "end the command in & to run it in the background"},
	{"--no-dns-cache, --prefer-family=FAMILY, --no-iri, --local-encoding=NAME, --remote-encoding=NAME", needless, "addresses are asked for and tried anew, and names are bytes"},

	// Connections and logins
	{"-4, --inet4-only", "-4", ""},
	{"-6, --inet6-only", "-6", ""},
	{"--bind-address=ADDR", "--bind ADDR", ""},
	{"--no-proxy", "--proxy none", ""},
	{"--proxy-user=NAME, --proxy-password=PASSWORD", needless, "both are part of the proxy's URL: --proxy http://NAME:PASSWORD@host:port"},
	{"--no-passive-ftp", "--active", ""},
	{"--user=NAME, --ftp-user=NAME", "--user NAME", ""},
	{"--password=PASSWORD, --ftp-password=PASSWORD", "--password-stdin", "with -u NAME; or leave it out to be asked"},
	{"--ask-password", needless, "the password is asked for when the server wants it"},
	{"--use-askpass=PROGRAM", lacking, "PROGRAM | ftpfetch --password-stdin -u NAME URL"},
	{"--no-netrc", "--no-netrc", "-n takes the user from the netrc file too"},

	// TLS
	{"--ftps-implicit", "--tls implicit", "or write ftps://"},
	{"--ftps-fallback-to-ftp", "--tls try", ""},
	{"--ftps-resume-ssl", needless, "sessions are always resumed"},
	{"--ftps-clear-data-connection", lacking, "data are as protected as the login"},
	{"--no-check-certificate", "--insecure", ""},
	{"--ca-certificate=FILE", "--cacert FILE", ""},
	{"--certificate=FILE", "--cert FILE", ""},
	{"--private-key=FILE", "--key FILE", "with --cert FILE"},
	{"--certificate-type=TYPE, --private-key-type=TYPE", needless, "files are in PEM form"},
	{"--ca-directory=DIR, --crl-file=FILE, --pinnedpubkey=FILE", lacking, "--cacert FILE trusts the authorities in FILE"},
	{"--secure-protocol=NAME, --ciphers=LIST", needless, "TLS 1.2 and 1.3 are used"},

	// Neither FTP nor files
	{"-e COMMAND, --execute=COMMAND, --config=FILE, --no-config", needless, "there is no file of settings, and robots.txt is not read"},
	{"-B URL, --base=URL, -F, --force-html, -k, --convert-links, --convert-file-only, -K, --backup-converted, -E, --adjust-extension, " +
		"-p, --page-requisites, --strict-comments, --follow-tags=LIST, --ignore-tags=LIST", lacking, "it is about HTML pages"},
	{"-U NAME, --user-agent=NAME, --header=TEXT, --referer=URL, --http-user=NAME, --http-password=PASSWORD, --no-cache, --default-page=NAME, " +
		"--ignore-length, --compression=TYPE, --max-redirect=N, --save-headers, --no-http-keep-alive, --no-cookies, --load-cookies=FILE, " +
		"--save-cookies=FILE, --keep-session-cookies, --post-data=TEXT, --post-file=FILE, --method=NAME, --body-data=TEXT, --body-file=FILE, " +
		"--content-disposition, --content-on-error, --auth-no-challenge, --https-only, --no-hsts, --hsts-file=FILE, --no-if-modified-since, " +
		"--trust-server-names, --retry-on-http-error=LIST", needless, "it is about HTTP"},
	{"--warc-file=FILE, --warc-header=TEXT, --warc-max-size=N, --warc-cdx, --warc-dedup=FILE, --no-warc-compression, --no-warc-digests, " +
		"--no-warc-keep-log, --warc-tempdir=DIR", lacking, "it is about archives of web pages"},
}
