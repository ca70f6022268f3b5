package cli_test

import (
	"os"
	"testing"

	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/internal/rules/night"
	"example.com/ftpfetch/testserver"
)

// TestFacts gives the same URL in two places, with every pair of facts about it, for a file that is missing, right or
// wrong, with every flag about existing files. A run may end with 0 only if the file is what all facts say.
func TestFacts(t *testing.T) {
	const right, wrong = "right", "wrong"
	md5 := map[string]string{right: "7c4f29407893c334a6cb7a87bf045c0d", wrong: "2bda2998d9b0ee197da142a0447f6725"}
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": right}})
	url := s.URL("/f")
	type facts struct{ size, sum string }
	var all []facts
	for _, size := range []string{"", "5", "6"} {
		for _, sum := range []string{"", md5[right], md5[wrong]} {
			all = append(all, facts{size, sum})
		}
	}
	agree := func(text string, given ...facts) bool {
		for _, x := range given {
			if x.size == "6" || x.sum != "" && x.sum != md5[text] {
				return false
			}
		}
		return true
	}
	list := func(x facts) string { return written(t, "url\tsize\tmd5\n"+url+"\t"+x.size+"\t"+x.sum+"\n") }
	cases, whole := 0, 0
	try := func(given []facts, flags []string, args ...string) {
		t.Helper()
		for _, there := range []string{"", right, wrong} {
			for _, flag := range flags {
				if cases++; cases%night.Or(7, 1) != 0 {
					continue
				}
				t.Chdir(t.TempDir())
				if there != "" {
					must.Do(t, os.WriteFile("f", []byte(there), 0o666))
				}
				code, _, stderr := run(t, append(args, flag)...)
				text, _ := os.ReadFile("f")
				if code == 0 {
					whole++
				}
				if code == 0 && !agree(string(text), given...) || code != 0 && len(given) == 1 && there == "" && agree(right, given...) {
					t.Errorf("%v %q %s with %q: code %d, %q: %s", given, args, flag, there, code, text, stderr)
				}
			}
		}
	}
	flags := []string{"-q", "--no-clobber", "--overwrite", "-N", "-c"}
	for i, x := range all {
		one := []facts{x}
		try(one, flags, "--manifest", list(x))
		try(one, flags, "--manifest", list(x), url)
		try(one, flags, "-i", list(x), url)
		try(one, flags, "--manifest", list(x), s.URL("/"), "-r", "-d", ".")
		try(one, flags, "-i", written(t, url+"\n"), "--manifest", list(x), url)
		for _, y := range all[:i] {
			try([]facts{x, y}, flags[1:3], "-i", list(x), "--manifest", list(y))
			try([]facts{x, y}, flags[1:3], "-i", list(y), "--manifest", list(x))
		}
	}
	t.Logf("%d cases, %d of them with success", cases, whole)
}
