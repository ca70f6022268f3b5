package cli

// newcomer is a command line as a user of another program types it, and what it
// should have been.
type newcomer struct {
	program string
	typed   string // with its program's name; $U is a file's URL, $D/ a directory's
	want    string // the arguments that get the same
}

// newcomers are the commonest commands of the four programs.
var newcomers = []newcomer{
	{"wget", "wget URL/file", "URL/file"},
	{"wget", "wget -c URL/file", "-c URL/file"},
	{"wget", "wget -O copy URL/file", "-o copy URL/file"},
	{"wget", "wget -qO- URL/file", "-q -o - URL/file"},
	{"wget", "wget -nv -P dir URL/file", "--progress plain -d dir URL/file"},
	{"wget", "wget -r -np -nH --cut-dirs=1 URL/tree/", "-r URL/tree/"},
	{"wget", "wget -m -nd URL/tree/", "-r -N URL/tree/"},
	{"wget", "wget -i urls", "-i urls"},
	{"wget", "wget -c -N -t 5 -T 30 URL/file", "-c -N --retries 5 --timeout 30 URL/file"},
	{"wget", "wget --user=me --password=secret URL/private", "--user=me --password-stdin URL/private"},
	{"curl", "curl -O URL/file", "URL/file"},
	{"curl", "curl -fsSLO URL/file", "-q URL/file"},
	{"curl", "curl -o copy URL/file", "-o copy URL/file"},
	{"curl", "curl -s -o copy URL/file", "-q -o copy URL/file"},
	{"curl", "curl -C - -O URL/file", "-c URL/file"},
	{"curl", "curl -u me:secret -O URL/private", "-u me:secret URL/private"},
	{"curl", "curl -l URL/tree/", "URL/tree/"},
	{"curl", "curl -I URL/file", "-I URL/file"},
	{"curl", "curl --retry 5 --connect-timeout 9 -O URL/file", "--retries 5 --connect-timeout 9 URL/file"},
	{"curl", "curl --create-dirs --output-dir dir -O URL/file", "-d dir URL/file"},
	{"aria2", "aria2c URL/file", "URL/file"},
	{"aria2", "aria2c -x4 -s4 URL/file", "-s 4 URL/file"},
	{"aria2", "aria2c -d dir -o copy URL/file", "-d dir -o copy URL/file"},
	{"aria2", "aria2c -c URL/file", "-c URL/file"},
	{"aria2", "aria2c -i urls -j 3", "-i urls -j 3"},
	{"aria2", "aria2c -Z URL/file URL/other", "URL/file URL/other"},
	{"aria2", "aria2c --max-tries=5 --retry-wait=3 URL/file", "--retries=5 URL/file"},
	{"aria2", "aria2c --allow-overwrite=true -q URL/file", "--overwrite -q URL/file"},
	{"aria2", "aria2c --ftp-user=me --ftp-passwd=secret URL/private", "--user=me --password-stdin URL/private"},
	{"aria2", "aria2c --max-download-limit=1M -k 1M URL/file", "--limit-rate=1M URL/file"},
	{"lftp", "lftp -c get URL/file", "URL/file"},
	{"lftp", "lftp get -c URL/file -o copy", "-c URL/file -o copy"},
	{"lftp", "lftp get -O dir URL/file", "-d dir URL/file"},
	{"lftp", "lftp pget -n 4 URL/file", "-s 4 URL/file"},
	{"lftp", "lftp pget -c -n 4 -O dir URL/file", "-c -s 4 -d dir URL/file"},
	{"lftp", "lftp mget -P 3 URL/*.txt", "--glob -j 3 URL/*.txt"},
	{"lftp", "lftp mget URL/tree/*.txt", "--glob URL/tree/*.txt"},
	{"lftp", "lftp mirror URL/tree", "-r URL/tree/"},
	{"lftp", "lftp mirror --parallel=3 --only-newer URL/tree/", "-r -N -j 3 URL/tree/"},
	{"lftp", "lftp -u me,secret -e get URL/private", "-u me:secret URL/private"},
}
