package cli

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/ftpfetch/testserver"
)

// misfit is a command that fails with a hint, and what the hint proposes.
type misfit struct {
	server testserver.Options
	local  string // "name=contents" of files, one a word; \n is a line end
	before string // a command that is run first, before the files are written
	args   string // URL is the server's address with its scheme, ADDR without
	hint   string // what the message says
	// then holds the ways that the hint proposes, each from the same situation. A way is one or more of "+WORDS" (add them in front),
	// "OLD=>NEW" (in the arguments) and "rm FILE", separated by "; ". The message must name each flag in it.
	then []string
}

// hex is the MD5 digest of "contents".
const hex = "98bf7d8c15784f0a3d63204441e1e2aa"

var (
	needsTLS = testserver.Options{TLS: testserver.TLSRequired}
	hasTLS   = testserver.Options{TLS: testserver.TLSOffered}
	six      = testserver.Options{Network: "tcp6"}
	strict   = testserver.Options{NoAnonymous: true}
	cutOnce  = testserver.Options{Fault: func(p testserver.FaultPoint) testserver.Fault {
		if p.Transfer == 1 {
			return testserver.Fault{Data: testserver.Closed, Octets: 3}
		}
		return testserver.Fault{}
	}}
)

var misfits = []misfit{
	// Local files
	{local: "f=old", args: "URL/f", hint: "--overwrite replaces it, --no-clobber skips it", then: []string{"+--overwrite", "+--no-clobber"}},
	{local: "f.part=con", args: "URL/f", hint: "remove it, or -c resumes it, or --overwrite replaces it", then: []string{"rm f.part", "+-c", "+--overwrite"}},
	{local: "l.part=con", args: "-o l URL/d/", hint: "(remove it, or --overwrite replaces it)", then: []string{"rm l.part", "+--overwrite"}},
	{local: "f=con f.part=con", args: "-c URL/f", hint: "remove it, or --overwrite, without -c, replaces it", then: []string{"rm f.part", "-c=>--overwrite"}},
	{server: cutOnce, before: "--retries 0 URL/f", local: "f=con", args: "-c URL/f", hint: "remove it, or --overwrite, without -c, goes ahead",
		then: []string{"rm f.part", "-c=>--overwrite"}},
	{local: "f.part.json=x", args: "URL/f", hint: "remove it, or choose another place with -o or -d", then: []string{"rm f.part.json", "+-o g", "+-d sub"}},
	{local: "f=contents,longer", args: "-c URL/f", hint: "--overwrite, without -c, starts over", then: []string{"-c=>--overwrite"}},
	{args: "URL/d%2Fa.txt", hint: "-o FILE saves it under another", then: []string{"+-o FILE"}},
	{local: "sub/x=1", args: "-o sub URL/f", hint: "write -d sub to save in it", then: []string{"-o=>-d"}},
	{args: "--verify URL/f", hint: "--checksum ALGO:HEX gives the digest of one file", then: []string{"+--checksum md5:HEX"}},
	{local: `l=URL/d/same\nURL/e/same\n`, args: "-i l", hint: "--keep-dirs saves each file under the directories of its URL", then: []string{"+--keep-dirs"}},
	{local: `l=HEX\x20\x20f\n`, args: "--manifest l --format sums", hint: "--base URL", then: []string{"+--base URL/"}},

	// Logins and TLS
	{server: needsTLS, args: "--insecure ftp://ADDR/f", hint: "--tls explicit asks for it, and so does ftpes:// in place of ftp://", then: []string{"+--tls explicit", "ftp://=>ftpes://"}},
	{server: hasTLS, args: "--insecure ftps://ADDR/f", hint: "the server may expect ftpes:// in place of ftps://", then: []string{"ftps://=>ftpes://"}},
	{server: hasTLS, args: "--insecure --tls implicit ftp://ADDR/f", hint: "or --tls explicit in place of --tls implicit", then: []string{"implicit=>explicit", "ftp://=>ftpes://"}},
	{server: needsTLS, args: "ftpes://ADDR/f", hint: "--cacert FILE trusts the authority in FILE", then: []string{"+--cacert ca.pem"}},
	{args: "ftp://me@ADDR/f", hint: "--password-stdin or a netrc file gives a password", then: []string{"+--password-stdin"}},
	{local: `netrc=machine\x20127.0.0.1\x20login\x20me\x20password\x20secret\n`, server: strict, args: "URL/f",
		hint: "-n takes the login for 127.0.0.1 from the netrc file", then: []string{"+-n"}},
	{args: "-u me,secret URL/f", hint: "-u takes NAME:PASSWORD, with a colon", then: []string{"me,=>me:"}},

	// Patterns and lists
	{args: "URL/d/*.txt", hint: "--glob takes it as a pattern of names", then: []string{"+--glob"}},
	{args: "URL/x[1-3]", hint: "--glob takes it as a pattern of names", then: []string{"+--glob"}},
	{args: "URL/{x1,x2}", hint: "--glob takes it as a pattern of names", then: []string{"+--glob"}},
	{args: "URL/n[01-02]", hint: "for a range of numbers, write {1..20} without quotes: the shell makes a URL of each", then: []string{"URL/n[01-02]=>URL/n01 URL/n02"}},
	{local: `u.txt=URL/f\n`, args: "@u.txt", hint: "-i u.txt fetches the URLs in that file", then: []string{"@u.txt=>-i u.txt"}},
	{local: `u.txt=URL/f\n`, args: "u.txt", hint: "-i u.txt fetches the URLs in that file", then: []string{"u.txt=>-i u.txt"}},
	{args: "-j 2 URL/d/ URL/f", hint: "-r fetches what is in it", then: []string{"+-r"}},
	{args: "URL/d", hint: `if it is a directory, end the URL in "/"`, then: []string{"URL/d=>URL/d/"}},

	// URLs
	{args: `"URL/f"`, hint: "the URL is in quotation marks; write ftp://", then: []string{`"=>`}},
	{args: "ADDR/f", hint: "the scheme is missing; write ftp://", then: []string{"ADDR=>ftp://ADDR"}},
	{args: "ftp:/ADDR/f", hint: `"//" is missing after the scheme; write ftp://`, then: []string{"ftp:/=>ftp://"}},
	{args: "ftp:ADDR/f", hint: `"//" is missing after the scheme; write ftp://`, then: []string{"ftp:=>ftp://"}},
	{args: "<ftp://ADDR/f>", hint: "write <URL:ftp://", then: []string{"<=><URL:"}},
	{args: "<URL:ftp://ADDR/f", hint: "write > after it", then: []string{"/f=>/f>"}},
	{args: "URL/x;1", hint: "write %3B", then: []string{";=>%3B"}},
	{args: "URL/x%", hint: "write %25", then: []string{"%=>%25"}},
	{args: "URL/;type=i", hint: "write ;type=d to list the directory", then: []string{";type=i=>;type=d"}},
	{args: "URL/f;type=x", hint: "write ;type=a, ;type=i or ;type=d", then: []string{";type=x=>;type=i"}},
	{args: "ftp://127.0.0.1:/f", hint: "write 127.0.0.1", then: []string{"127.0.0.1:=>ADDR"}},
	{args: "ftp://127.0.0.1.:PORT/f", hint: "write 127.0.0.1", then: []string{"127.0.0.1.=>127.0.0.1"}},
	{args: "ftp://127.1:PORT/f", hint: "write all four groups, as in 127.0.0.1", then: []string{"127.1=>127.0.0.1"}},
	{args: "ftp://127%2E0.0.1:PORT/f", hint: "write 127.0.0.1", then: []string{"%2E=>."}},
	{args: `ftp://ADDR\f`, hint: `write "/" in its place`, then: []string{`\=>/`}},
	{args: `ftp://127.0.0.1\f`, hint: `write "/" in its place`, then: []string{`127.0.0.1\=>ADDR/`}},
	{args: "ftp://127.0.0.1;type=d", hint: `write "/" before the path, as in /;type=d`, then: []string{"127.0.0.1;=>ADDR/;"}},
	{args: "ftp://ADDR;type=d", hint: `write "/" before the path, as in /;type=d`, then: []string{";=>/;"}},
	{server: six, args: "ftp://::1/f", hint: "write [::1]", then: []string{"::1=>[::1]:PORT"}},
	{server: six, args: "ftp://::1:PORT/f", hint: "write [::1]:", then: []string{"::1=>[::1]"}},
	{server: six, args: "::1:PORT/f", hint: "write ftp://[::1]:", then: []string{"::1=>ftp://[::1]"}},
	{server: six, args: "ftp://[::1%lo]:PORT/f", hint: "write [::1]", then: []string{"%lo=>"}},
	{args: "ftp://sl:a/b@ADDR/f", hint: `write %2F for a "/"`, then: []string{"a/b=>a%2Fb"}},
	{args: "me@127.0.0.1:dir/f", hint: "write ftp://me@127.0.0.1/dir/f", then: []string{"me@127.0.0.1:dir=>ftp://me:secret@ADDR"}},
	{args: "localhost:f", hint: "write ftp://localhost/ and the path if localhost is a host", then: []string{"localhost:=>ftp://ADDR/"}},
	{args: "127.0.0.1:/d/a.txt", hint: `write ftp://127.0.0.1/%2Fd/a.txt`, then: []string{"127.0.0.1:/=>ftp://ADDR/%2F"}},
	{args: "<x", hint: "write <URL:ftp://host/path>"},
	{args: "ftp://me:secret%2x@ADDR/f", hint: "write %25", then: []string{"%2x=>"}},

	// Flags
	{args: "", hint: "no URL given: write ftpfetch ftp://host/path/file", then: []string{"+ftp://ADDR/f"}},
	{args: "--output= URL/f", hint: "-o names no file: write -o FILE, or -o - for standard output", then: []string{"--output==>-oFILE", "--output==>-o-"}},
	{args: "--dir= URL/f", hint: "-d names no directory: write -d DIR", then: []string{"--dir==>-dDIR"}},
	{args: "-o g URL/f URL/x1", hint: "-o names one file for 2 URLs: write -d DIR to choose the directory", then: []string{"-o g=>-d DIR"}},
	{args: "-o - -d sub URL/f", hint: "-o - and -d contradict each other: leave out -d", then: []string{"-d sub =>"}},
	{args: "-o - -N URL/f", hint: "-o - and -N or -c contradict each other", then: []string{"-o - =>", "-N =>"}},
	{args: "--overwrite --no-clobber URL/f", hint: "--overwrite and --no-clobber contradict each other: leave one out", then: []string{"--overwrite =>", "--no-clobber =>"}},
	{args: "--checksum md5:HEX URL/f URL/x1", hint: "--checksum is for one file, but there are 2 URLs", then: []string{" URL/x1=>"}},
	{args: "--limit-rate 1K --speed-limit 2K URL/f", hint: "raise the first or lower the second", then: []string{"1K=>9K", "2K=>1"}},
	{args: "--input= URL/f", hint: "-i names no file: write -i FILE, or -i - for standard input", then: []string{"--input==>-iurls"}, local: `urls=URL/x1\n`},
	{args: "--manifest= URL/f", hint: "--manifest names no file: write --manifest FILE, or --manifest - for standard input", then: []string{"--manifest==>--manifest=urls"}, local: `urls=URL/x1\n`},
	{args: "-i - --manifest -", hint: "-i - and --manifest - contradict each other", then: []string{"-i - --manifest -=>-i urls"}, local: `urls=URL/f\n`},
	{args: "--password-stdin -u me -i -", hint: "write -i FILE or --manifest FILE", then: []string{"-i -=>-i urls"}, local: `urls=URL/f\n`},
	{args: "--shard 1/2 URL/f", hint: "write -i FILE or --manifest FILE too", then: []string{"+-i urls"}, local: `urls=URL/x1\n`},
	{args: "--per-host-shared -i urls", hint: "write --shard I/N too", then: []string{"+--shard 1/1"}, local: `urls=URL/f\n`},
	{args: "--columns fastq URL/f", hint: "--columns and --suffix are for a table: write --manifest FILE too", then: nil},
	{args: "--keep-dirs URL/f", hint: "--keep-dirs is for a list: write -i FILE or --manifest FILE too", then: []string{"+-i urls"}, local: `urls=URL/x1\n`},
	{args: "-I -o g URL/f", hint: "-I prints what servers tell about files: leave out -o, -r, --glob and --dry-run", then: []string{"-o g =>"}},
	{args: "-l -j 2 URL/d/ URL/d/", hint: "leave out -i, --manifest, -r, --glob and -j", then: []string{"-j 2 =>"}},
	{args: "-r -o g URL/d/", hint: "-o names one file: write -d DIR to choose the directory", then: []string{"-o g=>-d DIR"}},
	{args: "--checksum md5:HEX -i urls", hint: "give digests in a --manifest, or use --verify", then: nil, local: `urls=URL/f\n`},
	{args: "--report= -i urls", hint: "--report names no file: write --report FILE", then: []string{"--report==>--report=FILE"}, local: `urls=URL/f\n`},
	{args: "--json -i urls", hint: "--json is for -I and for listings: write -I too, or --report FILE for what happened to each file", then: []string{"+-I", "--json=>--report r"}, local: `urls=URL/f\n`},
	{args: "--dry-run --report r -i urls", hint: "-I and --dry-run fetch nothing: leave out --report", then: []string{"--report r =>"}, local: `urls=URL/f\n`},
	{args: "--report r URL/f", hint: "write -i, --manifest, -r, --glob or -j too", then: []string{"+-j 2 URL/x1", "+-r"}},
	{args: "--accept *.txt URL/d/", hint: "--accept is for directories: write -r or --glob too", then: []string{"+-r"}},
	{args: "--accept *.txt URL/d/*", hint: "--accept is for directories: write -r or --glob too", then: []string{"+--glob"}},
	{args: "-r --accept *.txt,same URL/d/", hint: "write --accept for each pattern, or {a,b}",
		then: []string{"*.txt,same=>{*.txt,same}", "*.txt,same=>*.txt --accept same"}},
	{args: "--depth 1 URL/d/", hint: "--depth is for trees: write -r too", then: []string{"+-r"}},
	{args: "--glob URL/x[1", hint: "", then: nil},
	{args: "--glob URL/x*%2", hint: "the pattern x*%2 ends within %XX: write %25", then: []string{"%2=>"}},
	{args: "--glob URL/x*%zz", hint: `has a "%" that is not followed by two hexadecimal digits: write %25`, then: []string{"%zz=>"}},
	{args: "--netrc= URL/f", hint: "--netrc= names no file: write --netrc=FILE", then: []string{"--netrc==>--netrc=netrc"}, local: "netrc="},
	{args: "--password-stdin ftp://me:secret@ADDR/f", hint: "--password-stdin and a password in the URL contradict each other: leave one out", then: []string{":secret=>", "--password-stdin =>"}},
	{args: "--password-stdin -u me:secret URL/f", hint: "--password-stdin and a password in -u contradict each other: write -u NAME", then: []string{"me:secret=>me"}},
	{args: "--password-stdin URL/f", hint: "--password-stdin: whose password is it? write -u NAME", then: []string{"+-u me"}},
	{args: "--mode active --proxy http://127.0.0.1:1 URL/f", hint: "--mode active does not work through a proxy: leave out --mode or --proxy", then: []string{"--proxy http://127.0.0.1:1 =>"}},
	{args: "-u secret\rx URL/f", hint: "-u: the value holds a line end or NUL", then: nil},
	{args: "--type q URL/f", hint: "write a, i, d or guess", then: []string{"q=>i"}},
	{args: "-s 0 URL/f", hint: "write a whole number from 1 to 64", then: []string{"0=>1"}},
	{args: "--retries x URL/f", hint: "write a whole number from 0", then: []string{"x=>0"}},
	{args: "-j x URL/f", hint: ", or auto", then: []string{"x=>auto"}},
	{args: "--bind lo URL/f", hint: "write an IP address of this machine", then: []string{"lo=>127.0.0.1"}},
	{args: "--timeout x URL/f", hint: "write a time such as 3s, 2m or 90", then: []string{"x=>3s", "x=>90"}},
	{args: "--limit-rate 1.5 URL/f", hint: "write whole bytes such as 4096, or a unit: 1.5K, 1.5M or 1.5G", then: []string{"1.5=>4096", "1.5=>1.5M"}},
	{args: "--limit-rate x URL/f", hint: "write bytes such as 500K, 1.5M, 2G or 4096", then: []string{"x=>500K"}},
	{args: "--limit-rate 0 URL/f", hint: "write at least 1 and at most 8388608G bytes; without the flag there is no limit", then: []string{"--limit-rate 0 =>"}},
	{args: "--format x -i urls", hint: "write list, text, tsv, csv, ndjson, json, ncbi or sums", then: []string{"x=>list"}, local: `urls=URL/f\n`},
	{args: "--json=x URL/d/", hint: "write --json or --json=false", then: []string{"=x=>", "=x=>=false"}},
	{args: "-output g URL/f", hint: "-output has one dash: write --output", then: []string{"-output=>--output"}},
	{args: "-nc URL/f", hint: "-nc is wget's: write --no-clobber; write -n -c for the two flags", then: []string{"-nc=>--no-clobber", "-nc=>-n -c"}, local: "netrc="},
	{args: "-s URL/f", hint: "-s needs a value: write -s N before the URL; for curl's write -q", then: []string{"-s=>-s 2", "-s=>-q"}},
	{args: "-s -q URL/f", hint: "-s needs a value, but a flag follows: write -s N", then: []string{"-s=>-s 2"}},
	{args: "URL/f --type", hint: "--type needs a value: write --type a|i|d|guess", then: []string{"--type=>--type i"}},
	{args: "--tpye i URL/f", hint: "unknown flag --tpye: perhaps --type", then: []string{"--tpye=>--type"}},
	{args: "--tries=3 URL/f", hint: "write --retries N", then: []string{"--tries=>--retries"}},

	// Digests, manifests and netrc files; the file m is l as the hint says
	{args: "--checksum sha3:00 URL/f", hint: "unknown digest algorithm", then: []string{"sha3:00=>MD5"}},
	{args: "--checksum= URL/f", hint: "no digest given: write ALGO:HEX", then: []string{"--checksum= =>--checksum=MD5 "}},
	{args: "--checksum abc URL/f", hint: "has no algorithm: write ALGO:HEX", then: []string{"abc=>MD5"}},
	{args: "--checksum HEX URL/f", hint: "the digest has no algorithm: write MD5", then: []string{"HEX=>MD5"}},
	{args: "--checksum " + strings.Repeat("0", 128) + " URL/f", hint: "in front of the digits", then: []string{strings.Repeat("0", 128) + "=>MD5"}},
	{args: "--shard 0/1 -i urls", hint: "shares count from 1: write 1/1 for the first", then: []string{"0/1=>1/1"}, local: `urls=URL/f\n`},
	{args: "--manifest l", hint: "has an empty component: write a name before and after each /", then: []string{" l=> m"},
		local: `l=url\tpath\nURL/f\ta//b\n m=url\tpath\nURL/f\ta/b\n`},
	{args: "--manifest l --format ndjson", hint: `write {"url": "ftp://host/path"}`, then: []string{" l=> m"}, local: `l=5\n m={"url":"URL/f"}\n`},
	{args: "--manifest l", hint: "is there twice: leave one out", then: []string{" l=> m"}, local: `l={"url":"URL/f","url":"URL/f"}\n m={"url":"URL/f"}\n`},
	{args: "--manifest l", hint: "is there twice: leave one out", then: []string{" l=> m"}, local: `l=url\tpath\tpath\nURL/f\ta\tb\n m=url\tpath\nURL/f\ta\n`},
	{args: "--manifest l --format tsv", hint: "names no column url, and none that ends in _ftp: write a header such as url, path, size, sha256", then: []string{" l=> m"},
		local: `l=URL/f\ta\n m=url\tpath\nURL/f\ta\n`},
	{args: "--manifest l", hint: "is not a digest: write ALGO:HEX", then: []string{" l=> m"}, local: `l=url\tchecksum\nURL/f\tx\n m=url\tchecksum\nURL/f\tMD5\n`},
	{args: "ftp://me@ADDR/f", hint: "for one machine: write a machine entry for each login", then: []string{"+--netrc=right"},
		local: `netrc=machine\x20127.0.0.1\x20login\x20me\x20password\x20a\x20password\x20b\n right=machine\x20127.0.0.1\x20login\x20me\x20password\x20secret\n`},
}

// TestHints runs each command, which fails with its hint, and then each way that
// the hint proposes, which must get something.
func TestHints(t *testing.T) {
	for _, m := range misfits {
		t.Run(m.args, func(t *testing.T) {
			says := ""
			for _, way := range append([]string{""}, m.then...) {
				code, out, message, s := m.run(t, way)
				if way == "" {
					says = message
				}
				switch {
				case unnamed(way, says) != "":
					t.Errorf("%s: the message does not name %s: %s", way, unnamed(way, says), says)
				case way == "" && (code == exitOK || !strings.Contains(message, strings.ReplaceAll(m.hint, "MD5", "md5:"+hex))):
					t.Errorf("exit %d, %q, want %q", code, message, m.hint)
				case way != "" && code != exitOK:
					t.Errorf("%s: exit %d, %s", way, code, message)
				case way != "" && out == "" && !retrieved(t) && !strings.Contains(way, "--no-clobber"):
					t.Errorf("%s: got nothing from %q", way, s.Commands())
				}
			}
		})
	}
}

// unnamed returns a flag that the way adds and that the message does not name.
func unnamed(way, says string) string {
	_, added, replaces := strings.Cut(way, "=>")
	if !replaces {
		added = strings.TrimPrefix(way, "+")
	}
	for word := range strings.FieldsSeq(added) {
		if word[0] == '-' && word[1] != '-' {
			word = word[:2]
		}
		if name, _, _ := strings.Cut(word, "="); word[0] == '-' && !strings.Contains(says, name) {
			return name
		}
	}
	return ""
}

// run makes the situation, goes the way, and runs the command.
func (m *misfit) run(t *testing.T, way string) (code int, out, message string, s *testserver.Server) {
	t.Helper()
	o := m.server
	o.Users = map[string]string{"me": "secret", "sl": "a/b"}
	o.Tree = map[string]string{"/f": "contents", "/x1": "contents", "/x2": "contents", "/n01": "contents", "/n02": "contents", "/d/a.txt": "contents",
		"/d/same": "contents", "/e/same": "contents", "/x;1": "contents", "/x%": "contents", "/d/": ""}
	s = testserver.New(t, &o)
	t.Chdir(t.TempDir())
	t.Setenv("NETRC", "netrc")
	url := strings.NewReplacer("URL", strings.TrimSuffix(s.URL("/"), "/"), "<URL:", "<URL:", "MD5", "md5:"+hex, "HEX", hex, "ADDR", s.Addr(), "PORT", s.Addr()[strings.LastIndexByte(s.Addr(), ':')+1:])
	if m.before != "" {
		m.command(t, strings.Fields(url.Replace(m.before)))
	}
	m.files(t, url, s)
	line := m.args
	for step := range strings.SplitSeq(way, "; ") {
		before, after, replaces := strings.Cut(step, "=>")
		name, removes := strings.CutPrefix(step, "rm ")
		switch {
		case removes:
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		case replaces:
			line = strings.ReplaceAll(line, before, after)
		default:
			line = strings.TrimPrefix(step, "+") + " " + line
		}
	}
	code, out, message = m.command(t, strings.FieldsFunc(url.Replace(line), func(r rune) bool { return r == ' ' }))
	return code, out, message, s
}

func (m *misfit) files(t *testing.T, url *strings.Replacer, s *testserver.Server) {
	t.Helper()
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("ca.pem", string(s.RootPEM()))
	for file := range strings.FieldsSeq(m.local) {
		name, text, _ := strings.Cut(file, "=")
		write(name, url.Replace(strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\x20`, " ").Replace(text)))
	}
}

func (m *misfit) command(t *testing.T, args []string) (code int, out, message string) {
	var stdout, stderr bytes.Buffer
	code = Run(t.Context(), args, IO{In: strings.NewReader("secret\n"), Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

// retrieved reports whether a file in the current directory has the contents.
func retrieved(t *testing.T) (found bool) {
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, rerr := os.ReadFile(path)
			found, err = found || string(text) == "contents" || path == "l" && string(text) == "a.txt\nsame\n", rerr
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return found
}

// hintLike matches a string that proposes something; usage texts of flags, which
// have a value in backquotes, do not count.
var (
	hintLike = regexp.MustCompile(`\b[Ww]rite [^a-z]|\bwrite (a|an|all|whole|bytes|at|list)\b|leave (one )?out|replaces it|goes ahead|starts over|--[a-z-]+ (URL|takes|gives|asks|FILE trusts|saves)`)
	verbs    = regexp.MustCompile(`%[a-z]`)
)

// elsewhereTested are hints that have no row, because no command line is at fault
// or their own tests follow them: those of --proxy-get need a proxy.
var elsewhereTested = []string{
	`write ""`, "write --%s", "standard input is a terminal", "--proxy-get ", "is negative", "is less than 0", "write a path relative to it", `write "ftp"`, "write Some(", "write [", "write I/N", "--mode active does not work through the proxy %s", "--netrc=none", "run chmod", "if this is a password, write %2F",
}

// TestHintsAreComplete finds every hint in the sources in a message of the table.
func TestHintsAreComplete(t *testing.T) {
	var all strings.Builder
	for _, m := range misfits {
		t.Run(m.args, func(t *testing.T) {
			_, _, message, _ := m.run(t, "")
			all.WriteString(message)
		})
	}
	for _, dir := range []string{".", "../../ftpexec", "../../urlparse", "../../download", "../../download/digest", "../../download/manifest", "../../download/batch", "../../internal/netrc", "../../internal/proxy"} {
		for _, text := range hintsIn(t, dir) {
			if slices.ContainsFunc(elsewhereTested, func(s string) bool { return strings.Contains(text, s) }) {
				continue
			}
			if !strings.Contains(all.String(), fixedPart(text)) {
				t.Errorf("%s: no row has the hint %q", dir, text)
			}
		}
	}
}

// fixedPart returns the longest part of a format without verbs.
func fixedPart(format string) (longest string) {
	for _, part := range verbs.Split(format, -1) {
		if part = strings.ReplaceAll(part, "%%", "%"); len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// hintsIn returns the string literals in a package that look like hints.
func hintsIn(t *testing.T, dir string) (found []string) {
	t.Helper()
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		base := filepath.Base(name)
		if strings.HasSuffix(base, "_test.go") || strings.HasPrefix(base, "habits") || strings.HasPrefix(base, "man") || strings.HasPrefix(base, "help") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				if err == nil && hintLike.MatchString(text) && !strings.Contains(text, "`") {
					found = append(found, text)
				}
			}
			return true
		})
	}
	return found
}
