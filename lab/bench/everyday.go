package main

import (
	"context"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// noise returns n octets that look random but are the same in every run.
func noise(seed byte, n int) string {
	text := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(text) // never fails
	return string(text)
}

// big takes one second at the server's rate.
var big = noise(1, 20<<20)

// rcloneAs are the words that tell rclone the server and the login.
const rcloneAs = " --ftp-host=host --ftp-user=ftp --ftp-pass=$(rclone obscure ftp) "

var tasks = []task{{
	title: "one file, with its time",
	goal:  "`data.gz` is there, with the time that it has on the server.",
	tree:  map[string]string{"data.gz": big},
	lines: [6]string{"ftpfetch ftp://host/pub/data.gz", "curl -RO ftp://host/pub/data.gz", "wget -N ftp://host/pub/data.gz",
		"lftp -c 'get ftp://host/pub/data.gz'", "aria2c -R ftp://host/pub/data.gz", "rclone copy" + rcloneAs + ":ftp:pub/data.gz ."},
	wrong: func(d *desk) string { return d.first(d.code != 0, d.lacks("data.gz"), d.lacksTime("data.gz")) },
}, {
	title: "a file that was cut",
	goal: "The program was killed (`kill -9`) after half of `data.gz`, 80 MiB. Now the file is whole, and at most three quarters of it " +
		"were fetched again.",
	tree: map[string]string{"data.gz": big + big + big + big},
	lines: [6]string{"ftpfetch ftp://host/pub/data.gz", "curl -C - -O ftp://host/pub/data.gz", "wget -c ftp://host/pub/data.gz",
		"lftp -c 'get -c ftp://host/pub/data.gz'", "aria2c -c ftp://host/pub/data.gz", "rclone copy" + rcloneAs + ":ftp:pub/data.gz ."},
	before: func(ctx context.Context, d *desk) error {
		from := arrived()
		return d.run(ctx, func() bool { return arrived()-from > int64(len(big)*2) })
	},
	wrong: func(d *desk) string {
		again := ""
		if d.bytes > int64(len(big))*3 {
			again = "fetched all of it again"
		}
		return d.first(d.code != 0, d.lacks("data.gz"), again)
	},
}, {
	title: "three files, one of them missing",
	goal:  "`a` and `c` are there, nothing is there as `b`, the exit code is not 0, and the message names `b`.",
	tree:  map[string]string{"a": "aa\n", "c": "cc\n"},
	lines: [6]string{"ftpfetch ftp://host/pub/a ftp://host/pub/b ftp://host/pub/c", "curl --remote-name-all ftp://host/pub/a ftp://host/pub/b ftp://host/pub/c",
		"wget ftp://host/pub/a ftp://host/pub/b ftp://host/pub/c", "lftp -c 'get ftp://host/pub/a ftp://host/pub/b ftp://host/pub/c'",
		"aria2c --ftp-reuse-connection=false -Z ftp://host/pub/a ftp://host/pub/b ftp://host/pub/c", "rclone copy" + rcloneAs + "--include={a,b,c} :ftp:pub ."},
	wrong: func(d *desk) string {
		silent, there := "", ""
		if !strings.Contains(d.said, "pub/b") {
			silent = "does not name it"
		}
		if _, err := os.Stat(filepath.Join(d.work, "b")); err == nil {
			there = "a file `b`"
		}
		if d.code == 0 {
			silent = "exit code 0"
		}
		return d.first(false, d.lacks("a", "c"), there, silent)
	},
}, {
	title: "3,000 small files",
	goal:  "All 3,000 files of the directory `pub` are there.",
	tree:  many(),
	lines: [6]string{"ftpfetch -r ftp://host/pub/", `curl -sl ftp://host/pub/ | sed 's|.*|url="ftp://host/pub/&"|' | curl -Z --remote-name-all -K -`,
		"wget -r ftp://host/pub/", "lftp -c 'mirror ftp://host/pub/'", "", "rclone copy" + rcloneAs + ":ftp:pub pub"},
	wrong: func(d *desk) string {
		n := 0
		for name := range d.task.tree {
			if d.lacks(name) != "" {
				n++
			}
		}
		lost := ""
		if n > 0 {
			lost = fmt.Sprintf("lost %d", n)
		}
		return d.first(d.code != 0, lost)
	},
}, {
	title: "a list with digests, one file damaged",
	goal:  "`a` and `c` of the list `MD5SUMS` are there; `b`, whose bytes on the server are others, is not; the exit code is not 0, and the message names `b`.",
	tree:  damaged(),
	lines: [6]string{"ftpfetch --manifest ftp://host/pub/MD5SUMS",
		`curl ftp://host/pub/MD5SUMS | tee MD5SUMS | sed 's|.*  |url=ftp://host/pub/|' | curl --remote-name-all -K - && md5sum -c MD5SUMS`,
		"wget -r -nd ftp://host/pub/ && md5sum -c MD5SUMS", "lftp -c 'mirror ftp://host/pub/ .' && md5sum -c MD5SUMS",
		"", "rclone copy" + rcloneAs + ":ftp:pub . && md5sum -c MD5SUMS"},
	wrong: func(d *desk) string {
		kept, silent := "", ""
		if d.lacks("b") == "" {
			kept = "keeps `b`"
		}
		if d.code == 0 || !strings.Contains(d.said, "b: ") {
			silent = "does not say so"
		}
		return d.first(false, d.lacks("a", "c"), silent, kept)
	},
}, {
	title: "a mirror, brought up to date",
	goal: "The tree `pub` was fetched. Then `new` came, `two/new` changed, and `gone` went. Now both sides have the same files, " +
		"and the big file, which is as before, was not fetched again.",
	tree: map[string]string{"data.gz": big, "one/a": "aa\n", "two/new": "bb\n", "gone": "g\n"},
	lines: [6]string{"ftpfetch -r -N --delete ftp://host/pub/", "", "wget -m ftp://host/pub/", "lftp -c 'mirror -e ftp://host/pub/'", "",
		"rclone sync" + rcloneAs + ":ftp:pub pub"},
	before: func(ctx context.Context, d *desk) error {
		if err := d.run(ctx, nil); err != nil {
			return err
		}
		return write(d.served, map[string]string{"new": "n\n", "two/new": "longer\n"}, "gone")
	},
	wrong: func(d *desk) string {
		kept, again := "", ""
		if d.find("gone") != "" {
			kept = "keeps what is gone"
		}
		if d.bytes > int64(len(big)) {
			again = "fetched all of it again"
		}
		return d.first(d.code != 0, d.lacks("data.gz", "one/a", "two/new", "new"), kept, again)
	},
}, {
	title: "what is new since an hour",
	goal:  "Of the tree `pub`, the two files that changed in the last hour are there, and no others.",
	tree:  map[string]string{"one/a": "aa\n", "two/new": "bb\n", "new": "c\n", "old": "d\n"},
	lines: [6]string{"ftpfetch -r --newer-than 1h ftp://host/pub/", "", "", "lftp -c 'mirror -N now-1hour ftp://host/pub/'", "",
		"rclone copy --max-age=1h" + rcloneAs + ":ftp:pub pub"},
	wrong: func(d *desk) string {
		more := ""
		if d.find("one/a") != "" || d.find("old") != "" {
			more = "fetched old files"
		}
		return d.first(d.code != 0, d.lacks("two/new", "new"), more)
	},
}, {
	title: "a directory as JSON",
	goal:  "Standard output is JSON with the name and the size of each file of `pub`.",
	tree:  map[string]string{"a b": "aa\n", "c": noise(2, 70000)},
	lines: [6]string{"ftpfetch --json ftp://host/pub/", "", "", "", "", "rclone lsjson" + rcloneAs + ":ftp:pub"},
	wrong: func(d *desk) string {
		type entry struct {
			Name string
			Size int64
		}
		sizes := map[string]int64{}
		for line := range strings.Lines(d.said) {
			var e entry
			line = strings.Trim(strings.TrimSpace(line), "[],")
			if line != "" && json.Unmarshal([]byte(line), &e) == nil {
				sizes[e.Name] = e.Size
			}
		}
		lost := ""
		if sizes["a b"] != 3 || sizes["c"] != 70000 {
			lost = "not in it"
		}
		return d.first(d.code != 0, lost)
	},
}, {
	title: "TLS, with a certificate of one's own",
	goal:  "`data.gz` is there, fetched over TLS (AUTH TLS) from a server whose certificate `ca.pem` vouches for, and nothing else does.",
	tree:  map[string]string{"data.gz": noise(3, 1<<20)},
	lines: [6]string{"ftpfetch --cacert ca.pem ftpes://tls/pub/data.gz", "curl --ssl-reqd --cacert ca.pem -O ftp://tls/pub/data.gz",
		"wget --ca-certificate=ca.pem ftps://tls/pub/data.gz",
		"lftp -c 'set ftp:ssl-force yes; set ftp:ssl-allow-anonymous yes; set ssl:ca-file ca.pem; get ftp://tls/pub/data.gz'", "",
		"rclone copy --ca-cert=ca.pem --ftp-explicit-tls" + strings.Replace(rcloneAs, "=host", "=tls", 1) + ":ftp:pub/data.gz ."},
	wrong: func(d *desk) string { return d.first(d.code != 0, d.lacks("data.gz")) },
}, {
	title: "odd characters in a name",
	goal:  "The file `50% of #1 (ü).txt` is there under that name.",
	tree:  map[string]string{"50% of #1 (ü).txt": "odd\n"},
	lines: [6]string{"ftpfetch 'ftp://host/pub/50%25%20of%20%231%20(ü).txt'", "curl -o '50% of #1 (ü).txt' 'ftp://host/pub/50%25%20of%20%231%20(ü).txt'",
		"wget 'ftp://host/pub/50%25%20of%20%231%20(ü).txt'", "lftp -c 'get \"ftp://host/pub/50%25%20of%20%231%20(ü).txt\"'",
		"aria2c 'ftp://host/pub/50%25%20of%20%231%20(ü).txt'", "rclone copy" + rcloneAs + "':ftp:pub/50% of #1 (ü).txt' ."},
	wrong: func(d *desk) string {
		if d.code == 0 && d.find("50% of #1 (ü).txt") == "" {
			return "another name"
		}
		return d.first(d.code != 0, d.lacks("50% of #1 (ü).txt"))
	},
}, {
	title: "the newest file, into a pipe",
	goal:  "Standard output is the newest of the files `*.grb2` in `pub`, byte for byte.",
	tree:  map[string]string{"a.grb2": "older\n", "new.grb2": "the newest\n", "z.grb2": "older\n"},
	lines: [6]string{"ftpfetch --glob --newest 1 -o - 'ftp://host/pub/*.grb2'",
		`curl -s ftp://host/pub/$(curl -s -X 'NLST -t' ftp://host/pub/ | head -1 | tr -d '\r')`, "",
		`lftp -c "cat ftp://host/pub/$(lftp -c 'open ftp://host/pub; cls -1t *.grb2' | head -1)"`, "",
		"rclone cat" + rcloneAs + ":ftp:pub/$(rclone lsf -F tp -s ' '" + rcloneAs + ":ftp:pub | sort | tail -1 | cut -d' ' -f3)"},
	wrong: func(d *desk) string {
		other := ""
		if !strings.Contains(d.said, "the newest\n") || strings.Contains(d.said, "older\n") {
			other = "other output"
		}
		return d.first(d.code != 0, other)
	},
}, {
	title: "never twice",
	goal: "The files of `pub` were fetched, and moved away. Then `new` came. Now the same command has fetched `new`, and no other file " +
		"again.",
	tree:  map[string]string{"a": "aa\n", "b": "bb\n"},
	lines: [6]string{"ftpfetch -r --once ftp://host/pub/", "", "", "", "", ""},
	before: func(ctx context.Context, d *desk) error {
		if err := d.run(ctx, nil); err != nil {
			return err
		}
		for _, name := range []string{"a", "b"} {
			if err := os.Remove(d.find(name)); err != nil {
				return err
			}
		}
		return write(d.served, map[string]string{"new": "n\n"})
	},
	wrong: func(d *desk) string {
		again := ""
		if d.find("a") != "" || d.find("b") != "" {
			again = "fetches them again"
		}
		return d.first(d.code != 0, d.lacks("new"), again)
	},
}, {
	title: "a command for each file",
	goal:  "`gzip` has compressed `a` and `b`. (`hook` is `#!/bin/sh` and `gzip \"$3\"`.)",
	tree:  map[string]string{"a": "aa\n", "b": "bb\n"},
	lines: [6]string{`ftpfetch -r --exec 'gzip "$1"' ftp://host/pub/`, "curl --remote-name-all ftp://host/pub/{a,b} && gzip a b",
		"wget -r ftp://host/pub/ && gzip -r host/", "lftp -c 'mirror ftp://host/pub/' && gzip -r pub",
		"aria2c --ftp-reuse-connection=false --on-download-complete=./hook -Z ftp://host/pub/{a,b}",
		"rclone copy" + rcloneAs + ":ftp:pub pub && gzip -r pub"},
	before: func(_ context.Context, d *desk) error {
		return os.WriteFile(filepath.Join(d.work, "hook"), []byte("#!/bin/sh\ngzip \"$3\"\n"), 0o755)
	},
	wrong: func(d *desk) string {
		left := ""
		for _, name := range []string{"a", "b"} {
			if d.find(name) != "" || d.find(name+".gz") == "" {
				left = "no `" + name + ".gz`"
			}
		}
		return d.first(d.code != 0, left)
	},
}, {
	title: "what differs",
	goal: "The directory `pub` here has the files of the server's, but for `missing`, `changed`, which has another size, and `extra`. The " +
		"output names these three and no other, nothing is fetched, and the exit code is not 0.",
	tree: map[string]string{"as-before": "aa\n", "changed": "longer\n", "missing": "m\n"},
	lines: [6]string{"ftpfetch -r --check -d pub ftp://host/pub/", "", "", "lftp -c 'mirror --dry-run -e ftp://host/pub/'", "",
		"rclone check" + rcloneAs + ":ftp:pub pub"},
	before: func(_ context.Context, d *desk) error {
		return write(filepath.Join(d.work, "pub"), map[string]string{"as-before": "aa\n", "changed": "c\n", "extra": "e\n"})
	},
	wrong: func(d *desk) string {
		flaw := ""
		for _, name := range []string{"changed", "missing", "extra"} {
			if !strings.Contains(d.said, name) {
				flaw = "does not name `" + name + "`"
			}
		}
		switch {
		case flaw != "":
		case strings.Contains(d.said, "as-before"):
			flaw = "names `as-before`"
		case d.find("missing") != "":
			flaw = "fetches `missing`"
		case d.code == 0:
			flaw = "exit code 0"
		}
		return d.first(false, flaw)
	},
}, {
	title: "looking around",
	goal:  "The output has the listings of `pub` and of `pub/two`, and `two/a` is there as `a`.",
	tree:  map[string]string{"one": "1\n", "two/a": "aa\n"},
	lines: [6]string{"ftpfetch -l ftp://host/pub/ ftp://host/pub/two/ && ftpfetch ftp://host/pub/two/a",
		"curl ftp://host/pub/ ftp://host/pub/two/ --next -O ftp://host/pub/two/a", "",
		"lftp -c 'cd ftp://host/pub; ls; ls two; get two/a'", "",
		"rclone lsl" + rcloneAs + ":ftp:pub && rclone copy" + rcloneAs + ":ftp:pub/two/a ."},
	wrong: func(d *desk) string {
		unseen, absent := "", ""
		if !strings.Contains(d.said, "one") || !strings.Contains(d.said, "a\n") && !strings.Contains(d.said, "a\r\n") {
			unseen = "not listed"
		}
		if text, err := os.ReadFile(filepath.Join(d.work, "a")); err != nil || string(text) != "aa\n" {
			absent = "no `a`"
		}
		return d.first(d.code != 0, unseen, absent)
	},
}}

// many returns 3,000 small files.
func many() map[string]string {
	files := map[string]string{}
	for i := range 3000 {
		files[fmt.Sprintf("f%04d.txt", i)] = fmt.Sprintf("file %d\n", i)
	}
	return files
}

// damaged returns three files and the list of their digests. The contents of b do not match the list.
func damaged() map[string]string {
	files := map[string]string{"a": noise(4, 9000), "b": noise(5, 9000), "c": noise(6, 9000)}
	list := ""
	for _, name := range []string{"a", "b", "c"} {
		list += fmt.Sprintf("%x  %s\n", md5.Sum([]byte(files[name])), name)
	}
	files["b"] = noise(7, 9000)
	files["MD5SUMS"] = list
	return files
}

// first returns the first flaw, or the exit code if it is wrong.
func (d *desk) first(failed bool, flaws ...string) string {
	for _, flaw := range flaws {
		if flaw != "" {
			return flaw
		}
	}
	if failed {
		return fmt.Sprintf("exit code %d", d.code)
	}
	return ""
}

// find returns the path of a file that the program saved, below any directory that programs create for a tree; "" if
// there is none.
func (d *desk) find(name string) string {
	for _, top := range []string{"", "pub", plainHost + "/pub"} {
		path := filepath.Join(d.work, top, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// lacks says which of the server's files are missing or incomplete.
func (d *desk) lacks(names ...string) string {
	for _, name := range names {
		want, err := os.ReadFile(filepath.Join(d.served, name))
		got, missing := os.ReadFile(d.find(name))
		switch {
		case err != nil:
			return err.Error()
		case missing != nil:
			return "no `" + name + "`"
		case string(got) != string(want):
			return "a wrong `" + name + "`"
		}
	}
	return ""
}

// lacksTime says whether the file lacks the time of the server's file.
func (d *desk) lacksTime(name string) string {
	want, err := os.Stat(filepath.Join(d.served, name))
	got, failed := os.Stat(d.find(name))
	if err != nil || failed != nil || got.ModTime().Sub(want.ModTime()).Abs() > 2*time.Minute {
		return "not its time"
	}
	return ""
}
