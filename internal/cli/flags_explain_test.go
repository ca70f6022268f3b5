package cli

import "testing"

// TestExplain checks the messages about unknown flags and bad values.
func TestExplain(t *testing.T) {
	const whole = "write a whole number from 1 to 64"
	const curls = "; for curl's write -q (-s fetches a file in segments here)"
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"--tpye", "a"}, "unknown flag --tpye: perhaps --type"},
		{[]string{"--zzz"}, "unknown flag --zzz"},
		{[]string{"-C", "-"}, "unknown flag -C: write -c (not needed for what ftpfetch itself left unfinished)"},
		{[]string{"-k"}, "unknown flag -k: for curl's write --insecure; for aria2's leave it out: segments are divided by themselves"},
		{[]string{"--mirror"}, "unknown flag --mirror: write -r -N (end the URL in /)"},
		{[]string{"-P", "dir"}, "unknown flag -P: for wget's write -d DIR; for curl's write --active; for lftp's write -j N"},
		{[]string{"-xhttp://me:secret@h/"}, "unknown flag -x: for curl's write --proxy URL; for lftp's write --reject GLOB (with -r or --glob; a pattern such as '*.gz')"},
		{[]string{"--output-document=x"}, "unknown flag --output-document: write -o FILE (\"-\" is standard output; without it a file is saved under its own name)"},
		{[]string{"--ssl-reqd"}, "unknown flag --ssl-reqd: write --tls explicit (or write ftpes://)"},
		{[]string{"--list-only"}, "unknown flag --list-only: leave it out: a URL that ends in / lists names; -l lists sizes and times too here"},
		{[]string{"-s", "x"}, "--segments x: " + whole + curls},
		{[]string{"--segments="}, `--segments "": ` + whole + curls},
		{[]string{"-s", "99999999999999999999"}, "--segments 99999999999999999999: " + whole + curls},
		{[]string{"-s", "65", "ftp://h/a"}, "--segments 65: " + whole + curls},
		{[]string{"-s", "ftp://me:secret@h/a"}, "-s needs a value: write -s N before the URL" + curls},
		{[]string{"--retries", "many"}, "--retries many: write a whole number from 0"},
		{[]string{"--json=x"}, "--json x: write --json or --json=false"},
		{[]string{"--tls", "yes"}, "--tls yes: write off, try, explicit or implicit"},
		{[]string{"--bind", "::1", "-4", "ftp://h/f"}, "--bind and -4 contradict each other: leave one out"},
		{[]string{"-N", "--no-clobber", "ftp://h/f"}, "-N and --no-clobber contradict each other: leave one out"},
		{[]string{"-c", "--no-clobber", "ftp://h/f"}, "-c and --no-clobber contradict each other: leave one out"},
		{[]string{"-c", "--overwrite", "ftp://h/f"}, "-c and --overwrite contradict each other: leave one out"},
		{[]string{"-c", "--no-resume", "ftp://h/f"}, "-c and --no-resume contradict each other: leave one out"},
		{[]string{"-4", "-6", "ftp://h/f"}, "-4 and -6 contradict each other: leave one out"},
		{[]string{"--completion", "csh"}, "--completion csh: write bash, zsh or fish"},
		{[]string{"--nc"}, "unknown flag --nc"},
		{[]string{"-v", "-json"}, "-json has one dash: write --json"},
		{[]string{"-nc"}, "-nc is not -n -c here: write --no-clobber; write -n -c for the two flags"},
		{[]string{"-vnc"}, "-vnc is wget's: write --no-clobber"},
		{[]string{"-nv"}, "-nv is not -n -v here: write --progress plain (no bar, a line for each file); write -n -v for the two flags"},
		{[]string{"-nd", "ftp://h/f"}, "-nd is not -n -d here: leave it out: without -r no directories are made, with -r the tree is kept; write -n -d for the two flags"},
		{[]string{"-np"}, "unknown flag -np: leave it out: a tree stays below its URL"},
		{[]string{"-nH"}, "unknown flag -nH: leave it out: no directory for the host is made"},
		{[]string{"-mnp", "ftp://h/d/"}, "-mnp is wget's: write -r -N"},
		{[]string{"-qO-", "ftp://h/f"}, "-qO is another program's: write -q -o FILE"},
		{[]string{"-rl2", "ftp://h/d/"}, "-rl is wget's: write -r --depth N"},
		{[]string{"-fsSLO", "ftp://h/f"}, "-fsSLO is curl's: write -q"},
		{[]string{"-sS", "ftp://h/f"}, "-sS is curl's: write -q"},
		{[]string{"-s", "ftp://h/f"}, "-s needs a value: write -s N before the URL" + curls},
		{[]string{"-s", "-o", "f", "ftp://h/f"}, "-s needs a value, but a flag follows: write -s N" + curls},
		{[]string{"-r", "0-99", "ftp://h/f"}, "-r takes no value here; for curl's nothing does that here: a file is fetched whole, and resumed where it ended"},
		{[]string{"-r0-99", "ftp://h/f"}, "-r with a value is curl's: nothing does that here: a file is fetched whole, and resumed where it ended"},
		{[]string{"-l", "2", "ftp://h/d/"}, "-l takes no value here; for wget's write --depth N (with -r; it counts the directory itself)"},
		{[]string{"-l", "aria2.log", "ftp://h/f"}, "-l takes no value here; for aria2's write -v (with 2>FILE; -l lists directories here)"},
		{[]string{"-n", "4", "ftp://h/f"}, "-n takes no value here; for lftp's write -s N (of pget; -n uses the netrc file here)"},
		{[]string{"-N", "2024-01-01", "ftp://h/f"}, "-N takes no value here; for lftp's nothing does that here: -N fetches what is newer than the file that is there"},
		{[]string{"-j", "ftp://h/f"}, "-j needs a value: write -j N before the URL"},
		{[]string{"-d", "ftp://h/f"}, "-d needs a value: write -d DIR before the URL; for wget's write -v; for lftp's write -v (-d DIR names the directory here)"},
		{[]string{"-d", "-q", "ftp://h/f"}, "-d needs a value, but a flag follows: write -d DIR; for wget's write -v; for lftp's write -v (-d DIR names the directory here)"},
		{[]string{"-t", "0"}, "unknown flag -t: for wget's write --retries N (which does not count the first try; a large N instead of 0 for no end); for aria2's write --timeout TIME"},
		{[]string{"-T", "9"}, "unknown flag -T: write --timeout TIME (--connect-timeout TIME limits connecting)"},
		{[]string{"-L"}, "unknown flag -L: for wget's leave it out: a tree stays on its server; for curl's leave it out: FTP has no redirects; for lftp's write --follow-links (with -r or --glob)"},
		{[]string{"-Upass:word"}, "unknown flag -U: leave it out: both are part of the proxy's URL: --proxy http://NAME:PASSWORD@host:port"},
		{[]string{"--progress=dot"}, "--progress dot: write auto, bar, plain, json or none; for wget's write --progress plain (or bar, json or none)"},
		{[]string{"-u", "-nc", "-uuser", "-\xff", "-nopipelining"}, "-nopipelining has one dash: write --no-pipelining"},
	}
	for _, tt := range tests {
		if _, err := parseArgs(tt.args); err == nil || err.Error() != tt.want {
			t.Errorf("%q: got  %v\nwant %s", tt.args, err, tt.want)
		}
	}
}

func TestDashesEnd(t *testing.T) {
	o, err := parseArgs([]string{"--dry-run", "--", "-nc"})
	if err != nil || len(o.targets) != 1 || o.targets[0].err == nil {
		t.Errorf("got %v, %v", o.targets, err)
	}
}
