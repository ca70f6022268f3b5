package config

// habits is the one table of other programs' flags: those that people really type and that are no flags of this
// program, or mean something else here. A row has the spellings of a flag and, between bars, what programs mean by
// it: their names, what stands for the flag's value, and after the colon what to write in its place; "drop" if it is
// not needed, "no" if nothing does that. The text in parentheses says why. "any" is for flags that no program in
// particular has.
var habits = []struct{ flags, means string }{
	// Letters
	{"-#", "curl: --progress bar"},
	{"-A", "wget GLOB: --accept GLOB (in trees) | curl TEXT: drop (HTTP)"},
	{"-b", "wget: drop (end the command in &) | curl TEXT: drop (HTTP)"},
	{"-d", "wget, lftp: -v | curl TEXT: no (HTTP)"},
	{"-e", "wget TEXT: drop (no settings) | curl URL: drop (HTTP) | lftp: no (it deletes)"},
	{"-f", "curl: drop (the default) | lftp TEXT: no (--glob takes a pattern in the URL)"},
	{"-F", "wget: no (HTML) | curl TEXT: no (HTTP) | lftp DIR: no (-r fetches the directory of a URL)"},
	{"-H", "wget: drop (a tree stays on its server) | curl TEXT: drop (HTTP)"},
	{"-i", "curl: -v | lftp TEXT: --accept GLOB (in trees)"},
	{"-J", "curl: drop (a file gets its own name)"},
	{"-k", "curl: --insecure | wget: no (HTML) | aria2 SIZE: drop (automatic)"},
	{"-l", "wget N: --depth N (with -r) | curl: drop (a URL that ends in / is listed) | aria2 FILE: -v (with 2>FILE)"},
	{"-L", "wget: drop (a tree stays on its server) | curl: drop (HTTP) | lftp: --follow-links (in trees)"},
	{"-m", "wget: -r -N | curl TIME: --max-time TIME | aria2 N: --retries N (besides the first try)"},
	{"-n", "lftp N: -s N | aria2: --netrc=none"},
	{"-nc", "wget: --no-clobber"},
	{"-nd -nH -np", "wget: drop (a tree stays below its URL)"},
	{"-nv --no-verbose", "wget: --progress plain"},
	{"-O", "wget FILE: -o FILE | curl: drop (a file gets its own name) | aria2 TEXT: no (BitTorrent) | lftp DIR: -d DIR"},
	{"-p", "wget: no (HTML) | curl: drop (the default) | aria2: drop (the default) | lftp N: drop (it is part of the URL)"},
	{"-P", "wget DIR: -d DIR | curl ADDR: --mode active | aria2: no (the shell takes {1..9}) | lftp N: -j N"},
	{"-r", "curl RANGE: no (a file is fetched whole)"},
	{"-R", "wget GLOB: --reject GLOB (in trees) | curl, aria2: drop (the default) | lftp: no (it uploads)"},
	{"-s", "curl: -q"},
	{"-S", "wget: -v | curl: drop (the default) | aria2: no (BitTorrent)"},
	{"-t", "wget N: --retries N (besides the first try) | curl TEXT: no (telnet) | aria2 TIME: --timeout TIME"},
	{"-T", "wget TIME: --timeout TIME | curl FILE: no (it uploads) | aria2 FILE: no (BitTorrent)"},
	{"-U", "wget, aria2 TEXT: drop (HTTP) | curl TEXT: drop (it is part of the proxy's URL)"},
	{"-V", "wget, curl: --version | aria2: --verify"},
	{"-w", "wget TIME: drop (retries wait by themselves) | curl TEXT: --progress json"},
	{"-x", "wget: no (-d DIR chooses the directory) | curl URL: --proxy URL | aria2 N: -s N | lftp TEXT: --reject GLOB (in trees)"},
	{"-X", "wget GLOB: --reject GLOB (in trees) | curl TEXT: drop (HTTP) | lftp GLOB: --reject GLOB (in trees)"},
	{"-Z", "curl: -j 4 | aria2: drop (the default)"},

	// Files
	{"--output-document --out --file --output-file --filename --save-as", "any FILE: -o FILE"},
	{"--directory-prefix --output-dir --target-directory --out-dir --outdir --directory --dest --destination --prefix", "any DIR: -d DIR"},
	{"--input-file", "wget, aria2 FILE: -i FILE"},
	{"-C --continue-at", "curl N: -c"},
	{"--resume", "any: drop (the same command resumes)"},
	{"--range --start-pos --source-region", "any RANGE: no (a file is fetched whole)"},
	{"--skip-existing --no-overwrite", "any: --no-clobber"},
	{"--allow-overwrite --force --transfer-all", "any: --overwrite"},
	{"--timestamping --update --only-newer", "any: -N"},
	{"--mirror", "any: -r -N"},
	{"--spider --head --size --stat", "any: -I"},
	{"--list-only --list --ls", "any: drop (a URL that ends in / is listed)"},
	{"--ascii --text --use-ascii", "any: --type a"},
	{"--hash --sha256 --md5", "any TEXT: --checksum ALGO:HEX"},

	// Trees
	{"--level --max-depth", "any N: --depth N (with -r)"},
	{"--exclude", "lftp TEXT: --reject GLOB (in trees)"},
	{"--exclude-glob", "lftp GLOB: --reject GLOB (in trees)"},
	{"--cut-dirs", "wget N: drop (a tree begins with the last part of its path)"},
	{"--delete --delete-after --reverse --upload-file --append", "any: no (it retrieves only)"},

	// Messages
	{"--silent --no-progress --no-progress-meter", "any: -q"},
	{"--progress-bar --show-progress", "any: --progress bar"},
	{"--debug --server-response --dump-header --trace --trace-ascii --log", "any: -v"},
	{"--show-error --fail --location --background --daemon --summary-interval --remote-name --remote-name-all --remote-time --create-dirs " +
		"--auto-file-renaming --url --no-parent --no-directories --no-host-directories --no-glob --globoff --passive --passive-ftp --ftp-pasv " +
		"--pasv --binary", "any: drop (the default)"},

	// Tries, times and connections
	{"--tries --retry --max-tries", "wget, curl, aria2 N: --retries N (besides the first try)"},
	{"--wait --waitretry --random-wait --retry-wait --retry-delay --retry-max-time --retry-all-errors", "any TIME: drop (retries wait by themselves)"},
	{"--read-timeout", "wget TIME: --timeout TIME"},
	{"--max-download-limit --max-overall-download-limit --rate-limit --bwlimit --max-speed", "any RATE: --limit-rate RATE"},
	{"--split --max-connection-per-server --use-pget --threads --connections", "any N: -s N"},
	{"--max-concurrent-downloads --parallel --parallel-max --concurrency --workers --processes", "any N: -j N"},
	{"-4 --ipv4 --inet4-only", "wget, curl: --ip 4"},
	{"-6 --ipv6 --inet6-only", "wget, curl: --ip 6"},
	{"--bind-address --interface", "any ADDR: --bind ADDR"},
	{"--active --no-passive-ftp --ftp-port", "any: --mode active"},
	{"--no-epsv --disable-epsv", "any: --mode pasv"},

	// Logins, proxies and TLS
	{"--ftp-user --username --login", "any NAME: -u NAME"},
	{"--password --ftp-password --ftp-passwd --pass --passwd", "any TEXT: --password-stdin (with -u NAME)"},
	{"--netrc-path --netrc-file", "curl, aria2 FILE: --netrc=FILE"},
	{"--no-netrc", "wget, aria2: --netrc=none"},
	{"--no-proxy --noproxy", "any: --proxy none (or set NO_PROXY)"},
	{"--socks5 --socks5-hostname", "curl ADDR: --proxy socks5://ADDR"},
	{"--ssl --ftps-fallback-to-ftp", "any: --tls try"},
	{"--ssl-reqd --tls-explicit", "any: --tls explicit"},
	{"--no-check-certificate --no-verify --no-check", "any: --insecure"},
	{"--ca-certificate", "any FILE: --cacert FILE"},
	{"--certificate", "any FILE: --cert FILE"},
	{"--user-agent --header --referer --data --post-data --request --cookie --compressed --form --proxy-digest --content-disposition", "any TEXT: drop (HTTP)"},

	// Commands
	{"mget", "lftp: --glob"},
	{"get get1 pget", "lftp: drop (-s N is for segments)"},
	{"mirror", "lftp: -r"},
}
