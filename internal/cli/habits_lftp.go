package cli

// lftpHabits are the flags of lftp 4.9 and of its commands get, mget, pget and
// mirror. Where they differ, the row says whose it is.
var lftpHabits = []habit{
	// Commands
	{"get, get1", needless, "a URL is fetched"},
	{"mget", "--glob", "and the pattern in the URL"},
	{"pget", "-s 4", "or another number of connections"},
	{"mirror", "-r", "and end the URL in /"},

	// get, mget and pget
	{"-o FILE", "-o FILE", ""},
	{"-O DIR, --target-directory=DIR", "-d DIR", ""},
	{"-c, --continue", "-c", "not needed for what ftpfetch itself left unfinished"},
	{"-e, --delete, --delete-first, --delete-excluded", lacking, "ftpfetch deletes nothing that it did not make; get -e is --overwrite"},
	{"-E, --Remove-source-files, --Remove-source-dirs, --Move", lacking, "ftpfetch only retrieves"},
	{"-a, --ascii", "--type a", ""},
	{"-n N", "-s N", "of pget; -n uses the netrc file here"},
	{"-P N, --parallel=N", "-j N", ""},
	{"--source-region=RANGE, --target-position=N", lacking, "a file is fetched whole"},

	// mirror
	{"-R, --reverse", lacking, "ftpfetch only retrieves"},
	{"--only-newer", "-r -N", ""},
	{"--only-missing", "-r --no-clobber", ""},
	{"--only-existing, -N TIME, --newer-than=TIME, --older-than=TIME, --size-range=RANGE", lacking, "-N fetches what is newer than the file that is there"},
	{"--ignore-time, --ignore-size, --transfer-all", "--overwrite", ""},
	{"--overwrite, --no-overwrite", "--overwrite", "without it a file that exists is an error"},
	{"--use-pget=N", "-s N", ""},
	{"-r, --no-recursion", "--depth 1", "with -r, which fetches a tree here"},
	{"--recursion=MODE", "-r", "which asks for a whole tree"},
	{"-L, --dereference", "--follow-links", "with -r or --glob"},
	{"--no-symlinks", needless, "links are followed only with --follow-links"},
	{"-x RX, --exclude=RX, -X GLOB, --exclude-glob=GLOB", "--reject GLOB", "with -r or --glob; a pattern such as '*.gz'"},
	{"-i RX, --include=RX, -I GLOB, --include-glob=GLOB", "--accept GLOB", "with -r or --glob; a pattern such as '*.gz'"},
	{"--include-rx-from=FILE, --exclude-rx-from=FILE, --include-glob-from=FILE, --exclude-glob-from=FILE", lacking, "write --accept or --reject once for each pattern"},
	{"-f FILE, --file=FILE", "--glob", "and the pattern in the URL"},
	{"-F DIR, --directory=DIR", "-r", "and the directory's URL"},
	{"--no-perms, --no-umask, --allow-suid, --allow-chown", needless, "files get the permissions that umask gives"},
	{"-s", "-s N", "mirror's -s sets suid bits; -s fetches a file in segments here"},
	{"--depth-first, --scan-all-first, --no-empty-dirs, --use-cache, --skip-noaccess, --upload-older", needless, "a tree is read as it comes, and what fails is told at the end"},
	{"--max-errors=N, --loop, --on-change=COMMAND", lacking, "the same command again fetches the rest"},
	{"-v, --verbose", needless, "-v shows the dialogue with the server here"},
	{"--log=FILE", "2>FILE", ""},
	{"--script=FILE, --just-print, --dry-run", "--dry-run", ""},

	// lftp itself
	{"-u NAME", "-u NAME", "with : before the password, not a comma"},
	{"-p N", needless, "it is part of the URL: ftp://host:2121/"},
	{"-d", "-v", "-d DIR names the directory here"},
	{"--norc, --rcfile=FILE", needless, "there is no file of settings"},
	{"--version", "--version", ""},
	{"--help", "--help", ""},
}

// otherHabits are flags that no program in particular has, but that people write.
var otherHabits = []habit{
	{"--out-dir=DIR, --outdir=DIR, --directory=DIR, --dest=DIR, --destination=DIR, --prefix=DIR", "-d DIR", ""},
	{"--file=FILE, --output-file=FILE, --filename=FILE, --save-as=FILE", "-o FILE", ""},
	{"--stdout", "-o -", ""},
	{"--resume", needless, "the same command resumes; -c resumes what another program left"},
	{"--retry-on-error", needless, "failures that may pass are retried"},
	{"--username=NAME, --login=NAME", "--user NAME", ""},
	{"--pass, --passwd", "--password-stdin", "with -u NAME; or leave it out to be asked"},
	{"--threads=N, --connections=N", "-s N", ""},
	{"--concurrency=N, --workers=N, --processes=N", "-j N", ""},
	{"--passive, --passive-ftp, --pasv, --binary", needless, "that is the default"},
	{"--port=N", needless, "it is part of the URL: ftp://host:2121/"},
	{"--ascii, --text", "--type a", ""},
	{"--force", "--overwrite", ""},
	{"--skip-existing", "--no-clobber", ""},
	{"--update", "-N", ""},
	{"--no-progress", "-q", ""},
	{"--debug", "-v", ""},
	{"--exclude=GLOB", "--reject GLOB", "with -r or --glob"},
	{"--include=GLOB", "--accept GLOB", "with -r or --glob"},
	{"--max-depth=N", "--depth N", "with -r"},
	{"--list, --ls", needless, "a URL that ends in / is listed"},
	{"--no-verify, --no-check", "--insecure", "if certificates are meant; files are verified only with --verify"},
	{"--rate-limit=RATE, --bwlimit=RATE, --max-speed=RATE", "--limit-rate RATE", ""},
	{"--tls-explicit", "--tls explicit", ""},
	{"--hash=DIGEST, --sha256=DIGEST, --md5=DIGEST", "--checksum ALGO:HEX", ""},
	{"--size, --stat", "-I", ""},
}
