package cli

import "testing"

// TestExplain checks the messages about unknown flags and bad values.
func TestExplain(t *testing.T) {
	const whole = "write a whole number from 1 to 64"
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"--tpye", "a"}, "unknown flag --tpye: perhaps --type"},
		{[]string{"--zzz"}, "unknown flag --zzz"},
		{[]string{"-C", "-"}, "unknown flag -C: write -c"},
		{[]string{"-k"}, "unknown flag -k: write --insecure"},
		{[]string{"--mirror"}, "unknown flag --mirror: write -r -N"},
		{[]string{"-P", "dir"}, "unknown flag -P: write -d DIR"},
		{[]string{"-xhttp://me:secret@h/"}, "unknown flag -x: write --proxy URL"},
		{[]string{"--output-document=x"}, "unknown flag --output-document: write -o FILE"},
		{[]string{"--ssl-reqd"}, "unknown flag --ssl-reqd: write --tls explicit"},
		{[]string{"--list-only"}, "unknown flag --list-only: write the URL of the directory with ;type=d at its end"},
		{[]string{"-s", "x"}, "--segments x: " + whole},
		{[]string{"--segments="}, `--segments "": ` + whole},
		{[]string{"-s", "99999999999999999999"}, "--segments 99999999999999999999: " + whole},
		{[]string{"-s", "65", "ftp://h/a"}, "--segments 65: " + whole},
		{[]string{"-s", "ftp://me:secret@h/a"}, "--segments URL: " + whole},
		{[]string{"--retries", "many"}, "--retries many: write a whole number from 0"},
		{[]string{"--json=x"}, "--json x: write --json or --json=false"},
		{[]string{"--tls", "yes"}, "--tls yes: write off, try, explicit or implicit"},
		{[]string{"--bind", "::1", "-4", "ftp://h/f"}, "--bind and -4 contradict each other: leave one out"},
		{[]string{"-N", "-c", "ftp://h/f"}, "-N and -c contradict each other: leave one out"},
		{[]string{"-N", "--no-clobber", "ftp://h/f"}, "-N and --no-clobber contradict each other: leave one out"},
		{[]string{"-c", "--no-clobber", "ftp://h/f"}, "-c and --no-clobber contradict each other: leave one out"},
		{[]string{"-c", "--overwrite", "ftp://h/f"}, "-c and --overwrite contradict each other: leave one out"},
		{[]string{"-c", "--no-resume", "ftp://h/f"}, "-c and --no-resume contradict each other: leave one out"},
		{[]string{"-4", "-6", "ftp://h/f"}, "-4 and -6 contradict each other: leave one out"},
		{[]string{"--completion", "csh"}, "--completion csh: write bash, zsh or fish"},
		{[]string{"--nc"}, "unknown flag --nc"},
		{[]string{"-vnc", "-json"}, "-json has one dash: write --json"},
		{[]string{"-nc"}, "-nc is not -n -c here: write --no-clobber, or -n -c for the two flags"},
		{[]string{"-u", "-nc", "-uuser", "-\xff", "-nopipelining"}, "-nopipelining has one dash: write --no-pipelining"},
	}
	for _, tt := range tests {
		if _, err := parseArgs(tt.args); err == nil || err.Error() != tt.want {
			t.Errorf("%q: got  %v\nwant %s", tt.args, err, tt.want)
		}
	}
}

// TestElsewhere checks that the table has no flag that ftpfetch has itself.
func TestElsewhere(t *testing.T) {
	all := newGroup("all")
	for _, g := range new(options).groups() {
		all.AddFlagSet(g.FlagSet)
	}
	for name := range elsewhere {
		if all.Lookup(name) != nil || len(name) == 1 && all.ShorthandLookup(name) != nil {
			t.Errorf("%s is a flag of ftpfetch", name)
		}
	}
}

func TestDashesEnd(t *testing.T) {
	o, err := parseArgs([]string{"--dry-run", "--", "-nc"})
	if err != nil || len(o.targets) != 1 || o.targets[0].err == nil {
		t.Errorf("got %v, %v", o.targets, err)
	}
}
