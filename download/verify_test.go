package download

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

func sha256Of(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }

// bsdOf returns what BSD's sum(1) prints.
func bsdOf(s string) string {
	sum := uint16(0)
	for _, c := range []byte(s) {
		sum = sum>>1 | sum<<15
		sum += uint16(c)
	}
	return fmt.Sprintf("%05d %5d", sum, (len(s)+1023)/1024)
}

func sum(t *testing.T, s string) digest.Sum {
	t.Helper()
	d := must.Get(digest.Parse(s))(t)
	return d
}

// TestSum compares a digest for each way in which bytes can arrive.
func TestSum(t *testing.T) {
	large := noise(5<<20, 3)
	tests := []struct {
		what, path, text string
		prepare          func(*kit)
		segments         int
	}{
		{"at once", "/f", body, func(*kit) {}, 1},
		{"empty", "/empty", "", func(*kit) {}, 1},
		{"retried", "/f", body, func(k *kit) { k.faulty(cut(1, 1234)) }, 1},
		{"resumed", "/f", body, func(k *kit) { k.leaves("/f", 100_000) }, 1},
		{"begun anew", "/f", body, func(k *kit) { k.leaves("/f", 100_000); k.faulty(replies("REST", "502 What?")) }, 1},
		{"holes", "/f", body, func(k *kit) {
			k.write("f.ftpfetch.part", body[:1000]+noise(9000, 9)+body[10_000:20_000])
			k.write("f.ftpfetch.json", k.journal("/f", 300_000, kitTime, span{0, 1000}, span{10000, 20000}))
		}, 1},
		{"segments", "/large", large, func(*kit) {}, 3},
	}
	for _, tt := range tests {
		for _, right := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%v", tt.what, right), func(t *testing.T) {
				k := newKit(t, map[string]string{"/f": body, "/empty": "", "/large": large})
				tt.prepare(k)
				want := sum(t, "sha256:"+sha256Of(tt.text))
				if !right {
					want = sum(t, "sha256:"+sha256Of(tt.text+"x"))
				}
				r, err := k.get(tt.path, Options{Sum: want, Segments: tt.segments})
				if right {
					if err != nil || r.Verified != "sha256 given" {
						t.Errorf("got %+v, %v", r, err)
					}
					k.want(map[string]string{"f": tt.text})
					return
				}
				if !errors.Is(err, ErrDigest) || errors.Is(err, ErrLocal) {
					t.Errorf("got %v, want ErrDigest", err)
				}
				k.want(map[string]string{"f.ftpfetch.bad": tt.text})
			})
		}
	}
}

// TestSumBadBounded checks that a wrong digest leaves one bad file, however often the command runs, and that a good
// target stays.
func TestSumBadBounded(t *testing.T) {
	wrong := Options{Existing: Overwrite, Sum: sum(t, "sha256:"+sha256Of("x"))}
	k := newKit(t, map[string]string{"/f": body})
	k.write("f", "good")
	for i, came := range []bool{false, true, false} {
		if i == 2 {
			k.write("f.ftpfetch.bad", "other")
		}
		_, err := k.get("/f", wrong)
		if !errors.Is(err, ErrDigest) || strings.Contains(fmt.Sprint(err), "the same bytes came before") != came {
			t.Errorf("time %d: got %v", i+1, err)
		}
		k.want(map[string]string{"f": "good", "f.ftpfetch.bad": body})
	}
}

// TestSumOfHead verifies a file whose start comes from another program and is wrong.
func TestSumOfHead(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	theirs := noise(30_000, 7) + body[30_000:100_000]
	k.write("f", theirs)
	_, err := k.get("/f", Options{Existing: Continue, Sum: sum(t, "sha256:"+sha256Of(body))})
	if !errors.Is(err, ErrDigest) || k.exists("f.ftpfetch.json") || read(t, k.path("f")) != theirs {
		t.Errorf("got %v", err)
	}
}

// listedAgain refuses every other listing with a temporary reply. The server has no command for digests.
func listedAgain() failure {
	refused := false
	return func(p *testserver.Conn) testserver.Action {
		switch p.Verb {
		case "FEAT":
			return testserver.Reply("211-\r\n SIZE\r\n211 End")
		case "NLST":
			refused = !refused
			if refused {
				return testserver.Reply("450 Busy")
			}
		}
		return nil
	}
}

func TestVerify(t *testing.T) {
	md5Of := fmt.Sprintf("%x", md5.Sum([]byte(body)))
	tests := []struct {
		what  string
		tree  map[string]string
		fault failure
		err   error
		from  string
	}{
		{"own list", map[string]string{"/d/f.sha256": sha256Of(body) + "  f\n"}, nil, nil, "sha256 in f.sha256"},
		{"the directory's", map[string]string{"/d/SHA256SUMS": "00  x\n" + sha256Of(body) + "  f\n"}, nil, nil, "sha256 in SHA256SUMS"},
		{"weaker", map[string]string{"/d/MD5SUMS": md5Of + "  f\n"}, nil, nil, "md5 in MD5SUMS"},
		{"not listed in the first", map[string]string{"/d/SHA256SUMS": sha256Of("x") + "  x\n", "/d/MD5SUMS": md5Of + "  f\n"}, nil, nil, "md5 in MD5SUMS"},
		{"wrong", map[string]string{"/d/SHA256SUMS": sha256Of("x") + "  f\n"}, nil, ErrDigest, ""},
		{"no listing", map[string]string{"/d/MD5SUMS": md5Of + "  f\n"}, replies("NLST", "550 No"), nil, "md5 in MD5SUMS"},
		{"a listing at the second try", map[string]string{"/MD5SUMS": md5Of + "  ./d/f\n"}, listedAgain(), nil, "md5 in ../MD5SUMS"},
		{"an empty listing", map[string]string{"/d/f.sha256": sha256Of(body) + "  f\n"}, always("NLST", testserver.EndDataAfter(0, testserver.Closed)), nil, "sha256 in f.sha256"},
		{"UCSC", map[string]string{"/d/md5sum.txt": md5Of + "  f\n"}, nil, nil, "md5 in md5sum.txt"},
		{"a path in its own list", map[string]string{"/d/f.md5": md5Of + "  /nfs/build/f\n"}, nil, nil, "md5 in f.md5"},
		{"Ensembl", map[string]string{"/d/CHECKSUMS": bsdOf(body) + " f\n"}, nil, nil, "bsdsum in CHECKSUMS, which is weak: 16 bits"},
		{"Ensembl, wrong", map[string]string{"/d/CHECKSUMS": bsdOf(body+"x") + " f\n"}, nil, ErrDigest, ""},
		{"a stronger list than Ensembl's", map[string]string{"/d/CHECKSUMS": bsdOf(body+"x") + " f\n", "/d/MD5SUMS": md5Of + "  f\n"}, nil, nil, "md5 in MD5SUMS"},
		{"in a parent directory", map[string]string{"/MD5SUMS": md5Of + "  ./d/f\n"}, replies("FEAT", "211-\r\n SIZE\r\n211 End"), nil, "md5 in ../MD5SUMS"},
		{"another directory's", map[string]string{"/MD5SUMS": md5Of + "  e/f\n" + md5Of + "  f\n"}, replies("FEAT", "211-\r\n SIZE\r\n211 End"), ErrUnverified, ""},
		{"BSD's, in a parent directory", map[string]string{"/SHA256SUMS": "SHA256 (./d/f) = " + sha256Of(body) + "\n"}, replies("FEAT", "211-\r\n SIZE\r\n211 End"), nil, "sha256 in ../SHA256SUMS"},
		{"a path from above", map[string]string{"/d/md5sum.txt": md5Of + "  d/f\n"}, nil, nil, "md5 in md5sum.txt"},
		{"BSD's, an absolute path", map[string]string{"/d/CHECKSUMS": "MD5 (/d/f) = " + md5Of + "\n"}, nil, nil, "md5 in CHECKSUMS"},
		{"another file's path from above", map[string]string{"/d/MD5SUMS": md5Of + "  d/f\n", "/d/d/x": ""}, replies("FEAT", "211-\r\n SIZE\r\n211 End"), ErrUnverified, ""},
		{"another place", map[string]string{"/d/MD5SUMS": md5Of + "  /e/f\n" + md5Of + "  ../f\n"}, replies("FEAT", "211-\r\n SIZE\r\n211 End"), ErrUnverified, ""},
		{"none", nil, replies("FEAT", "211-\r\n SIZE\r\n211 End"), ErrUnverified, ""},
		{"ambiguous", map[string]string{"/d/MD5SUMS": md5Of + "  f\n" + fmt.Sprintf("%x", md5.Sum(nil)) + "  f\n"}, nil, ErrUnverified, ""},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			tree := map[string]string{"/d/f": body}
			for name, text := range tt.tree {
				tree[name] = text
			}
			k := newKit(t, tree)
			k.faulty(tt.fault)
			r, err := k.get("/d/f", Options{Verify: true})
			if !errors.Is(err, tt.err) || r.Verified != tt.from {
				t.Errorf("got %+v, %v, want %q, %v", r, err, tt.from, tt.err)
			}
			if k.exists("f") != (tt.err == nil) {
				t.Errorf("the file is there: %v", k.exists("f"))
			}
		})
	}
}

// TestVerifyEnds ends the context while the server is too busy to send the list of digests. The run must not take that
// for a missing list: the next file must find its digest in it.
func TestVerifyEnds(t *testing.T) {
	full := func(p *testserver.Conn) testserver.Action {
		if p.Verb == "RETR" && p.Arg == "SHA256SUMS" {
			return testserver.Reply("530 Too many connections.")
		}
		return nil
	}
	k := newKit(t, map[string]string{"/d/f": body, "/d/SHA256SUMS": sha256Of(body) + "  f\n"})
	k.faulty(full)
	if _, err := k.get("/d/f", Options{Verify: true, Retries: -1}); !errors.Is(err, ftpexec.ErrTooMany) {
		t.Errorf("without a retry: got %v, want ErrTooMany", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waiting(t, func(context.Context, time.Duration) error {
		cancel()
		return ctx.Err()
	})
	if _, err := File(ctx, k.src, k.url("/d/f"), k.path("f"), &Options{Verify: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("with an end: got %v, want Canceled", err)
	}
}

// TestVerifyByServer makes the server compute a digest.
func TestVerifyByServer(t *testing.T) {
	for text, want := range map[string]error{"contents": nil, "others": ErrDigest} {
		s := testserver.New(t, nil, testserver.Honest("contents").
			With("FEAT", testserver.Reply("211-Features\r\n XSHA256\r\n211 End")).
			With("XSHA256", testserver.Reply("250 "+sha256Of(text))).
			With("NLST", testserver.Reply("550 No")).
			With("^SIZE (.*[Ss5].*)$", testserver.Reply("550 No")).
			With("^RETR [^x]", testserver.Reply("550 No")))
		k := newKit(t, nil)
		k.Server = nil
		u := urlOf(t, s.URL("/x"))
		r, err := File(t.Context(), k.c, u, k.path("x"), &Options{Verify: true})
		if !errors.Is(err, want) || want == nil && r.Verified != "sha256 from the server" {
			t.Errorf("%s: got %+v, %v, want %v", text, r, err, want)
		}
	}
}

// TestToVerifies verifies what was written to a stream.
func TestToVerifies(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	var got bytes.Buffer
	r, err := To(t.Context(), k.c, k.url("/f"), &got, &Options{Sum: sum(t, "sha256:"+sha256Of(body))})
	if err != nil || r.Verified == "" || got.String() != body {
		t.Errorf("got %+v, %v", r, err)
	}
	if r, err = To(t.Context(), k.c, k.url("/f"), &got, &Options{Sum: sum(t, "crc32:00000000")}); !errors.Is(err, ErrDigest) || r.Verified != "" {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestVerifyOfLeftTarget verifies a target with the server's size and time. A right digest leaves the target alone. If
// the digest is wrong, Newer replaces the target, and other runs fail.
func TestVerifyOfLeftTarget(t *testing.T) {
	wrong := noise(300_000, 8)
	for _, text := range []string{body, wrong} {
		for _, o := range []Options{{Existing: Continue}, {Existing: Newer}, {Existing: Skip}, {Existing: NewerOrContinue}} {
			for _, verify := range []bool{false, true} {
				k := newKit(t, map[string]string{"/f": body, "/f.sha256": sha256Of(body)})
				k.write("f", text)
				o.Verify = verify
				if !verify {
					o.Sum = sum(t, "sha256:"+sha256Of(body))
				}
				r, err := k.get("/f", o)
				has, want := text, error(nil)
				switch {
				case text == body && r.Left == "":
					t.Errorf("%+v: %+v", o, r)
				case text == wrong && (o.Existing == Newer || o.Existing == NewerOrContinue):
					has = body
				case text == wrong:
					want = ErrDigest
				}
				if !errors.Is(err, want) || want == nil && r.Verified == "" {
					t.Errorf("%+v: got %+v, %v, want %v", o, r, err, want)
				}
				k.want(map[string]string{"f": has})
			}
		}
	}
}

// TestReadingIsTold checks that a run tells the user before it reads a large target, because that takes seconds.
func TestReadingIsTold(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.write("f", "")
	must.Do(t, os.Truncate(k.path("f"), 1<<30))
	ctx, cancel := context.WithCancel(t.Context())
	told := ""
	o := Options{Existing: Skip, Sum: must.Get(digest.Parse("crc32:00000000"))(t)}
	o.Events = func(e Event) {
		told += e.Text
		cancel() // the test need not read the file
	}
	_, err := File(ctx, k.c, k.url("/f"), k.path("f"), &o)
	if want := k.path("f") + ": reading 1073741824 bytes to check them"; told != want || !errors.Is(err, context.Canceled) {
		t.Errorf("told %q, %v, want %q", told, err, want)
	}
}
