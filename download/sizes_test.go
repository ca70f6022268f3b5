package download

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/download/internal/algorithm"
	"example.com/ftpfetch/download/internal/sums"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// TestSameOutcomeTwice fetches files whose size is wrong, or that grow, or that the server ends without a byte. The same
// outcome twice is final, and the error says what was seen.
func TestSameOutcomeTwice(t *testing.T) {
	const text = "0123456789"
	size := func(n func(asked int) int) testserver.Step {
		asked := 0
		return testserver.On("SIZE", func(c *testserver.Conn) error {
			asked++
			return testserver.Reply(fmt.Sprint("213 ", n(asked)))(c)
		})
	}
	steady := func(n int) testserver.Step { return size(func(int) int { return n }) }
	grows := size(func(asked int) int { return asked })
	refusal := testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("", testserver.Closed), testserver.Reply("426 Transfer aborted. Operation not permitted"))
	reset := testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("", testserver.Reset), testserver.Reply("426 Transfer aborted. Operation not permitted"))
	nothing := func(*testserver.Dialogue) {}
	for _, tt := range []struct {
		name string
		step testserver.Step
		want error
		says string
		most int // transfers
	}{
		{"more, of a steady size", steady(7), ftpexec.ErrMore, "more than the 7 bytes announced, twice in a row", 2},
		{"more, and it grows", grows, ftpexec.ErrMore, " bytes announced, twice in a row", 2},
		{"fewer, confirmed", steady(12), ftpexec.ErrFewer, "10 of 12 bytes, and the server says that this is all, twice in a row", 2},
		{"none, refused at the end", refusal, ftpexec.ErrNoData, "Operation not permitted", 2},
		{"none, reset and refused", reset, nil, "", 6},
		{"right", nothing, nil, "", 1},
	} {
		for _, dated := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/dated=%v", tt.name, dated), func(t *testing.T) {
				waiting(t, func(context.Context, time.Duration) error { return nil })
				steps := []testserver.Step{testserver.Honest(text), tt.step}
				if !dated {
					steps = append(steps, testserver.On("MDTM", testserver.Reply("500 What?")))
				}
				s := testserver.New(t, nil, steps...)
				k := newKit(t, nil)
				k.Server = nil
				_, err := File(t.Context(), k.c, urlOf(t, s.URL("/f")), k.path("f"), nil)
				transfers := 0
				for _, line := range s.Commands() {
					if strings.HasPrefix(line, "RETR") {
						transfers++
					}
				}
				if tt.want != nil && (!errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says)) || transfers > tt.most || tt.name == "right" && err != nil {
					t.Errorf("got %v after %d transfers, want %q after %d", err, transfers, tt.says, tt.most)
				}
			})
		}
	}
}

// TestVerifyByEveryName puts the digest of a file into a list of each name that is looked for, and finds it there. Lists
// of rare names cost no request where they are not.
func TestVerifyByEveryName(t *testing.T) {
	n := 0
	for _, list := range sums.Beside("f") {
		n++
		line := "SHA256 (f) = " + sha256Of(body)
		if list.Algorithm != "" {
			line = digestOf(t, list.Algorithm, body) + "  f"
		}
		k := newKit(t, map[string]string{"/d/f": body, "/d/" + list.File: line + "\n"})
		r, err := k.get("/d/f", Options{Verify: true})
		if err != nil || !strings.HasSuffix(r.Verified, " in "+list.File) {
			t.Errorf("%s: got %+v, %v", list.File, r, err)
		}
		asked := 0
		for _, line := range k.Commands() {
			if strings.HasPrefix(line, "RETR") {
				asked++
			}
		}
		if asked != 2 {
			t.Errorf("%s: %d transfers", list.File, asked)
		}
	}
	t.Logf("%d names", n)
}

// TestVerifySaysWhy checks what the error says about lists that are there and do not help, and about the server's
// refusals.
func TestVerifySaysWhy(t *testing.T) {
	noHash := replies("FEAT", "211-\r\n SIZE\r\n211 End")
	hash := func(reply string) failure {
		return func(c *testserver.Conn) testserver.Action {
			switch c.Verb {
			case "FEAT":
				return testserver.Reply("211-\r\n XMD5\r\n211 End")
			case "XMD5":
				return testserver.Reply(reply)
			}
			return nil
		}
	}
	for _, tt := range []struct {
		list, text string
		fault      failure
		says       string
	}{
		{"", "", noHash, "there is no list of digests beside the file or above, and the server computes none"},
		{"", "", hash("550 f: not here"), "there is no list of digests beside the file or above, and the server refuses to compute one: 550 f: not here"},
		{"SHA256SUMS", sha256Of("x") + "  x\n", noHash, "SHA256SUMS: no digest is listed for the file, and the server computes none"},
		{"SHA256SUMS", "P\x00\x01 no text\n", noHash, "SHA256SUMS: no line is a digest in a form that is known, and the server computes none"},
		{"SHA256", "SHA3-256 (f) = " + sha256Of(body) + "\n", noHash, "SHA256: the digest listed for the file is of an algorithm that is not supported: SHA3-256, and the server computes none"},
		{"CHECKSUM", "SM3(f)= " + sha256Of(body) + "\n", noHash, "CHECKSUM: the digest listed for the file is of an algorithm that is not supported: SM3, and the server computes none"},
	} {
		tree := map[string]string{"/d/f": body}
		if tt.list != "" {
			tree["/d/"+tt.list] = tt.text
		}
		k := newKit(t, tree)
		k.faulty(tt.fault)
		_, err := k.get("/d/f", Options{Verify: true})
		if !errors.Is(err, ErrUnverified) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want %q", tt.list, err, tt.says)
		}
	}
}

// TestSecondOpinion fetches an intact file for which the server computes a wrong digest. Only if no other digest of the
// server fits is the file called bad.
func TestSecondOpinion(t *testing.T) {
	for _, tt := range []struct {
		name       string
		md5, crc32 string // of which text
		want       error
		bad        bool
	}{
		{"right", body, body, nil, false},
		{"the other digest is right", "x", body, ErrUnverified, false},
		{"both are wrong", "x", "y", ErrDigest, true},
	} {
		k := newKit(t, map[string]string{"/d/f": body})
		k.faulty(func(c *testserver.Conn) testserver.Action {
			switch c.Verb {
			case "FEAT":
				return testserver.Reply("211-\r\n XMD5\r\n XCRC\r\n211 End")
			case "XMD5":
				return testserver.Reply("250 " + digestOf(t, "md5", tt.md5))
			case "XCRC":
				return testserver.Reply("250 " + digestOf(t, "crc32", tt.crc32))
			}
			return nil
		})
		_, err := k.get("/d/f", Options{Verify: true})
		if !errors.Is(err, tt.want) || k.exists("f.ftpfetch.bad") != tt.bad || k.exists("f") != (tt.want == nil) {
			t.Errorf("%s: got %v, bad: %v", tt.name, err, k.exists("f.ftpfetch.bad"))
		}
	}
}

// TestWaitingForADigestIsTold checks that the user is told what the run waits for.
func TestWaitingForADigestIsTold(t *testing.T) {
	t.Parallel()
	k := newKit(t, map[string]string{"/d/f": body})
	told := make(chan struct{})
	k.faulty(func(c *testserver.Conn) testserver.Action {
		switch c.Verb {
		case "FEAT":
			return testserver.Reply("211-\r\n XMD5\r\n211 End")
		case "XMD5":
			return func(c *testserver.Conn) error {
				<-told
				return testserver.Reply("250 " + digestOf(t, "md5", body))(c)
			}
		}
		return nil
	})
	o := &Options{Verify: true, Events: func(e Event) {
		if e.Text == "waiting for the server to compute the md5 digest" {
			close(told)
		}
	}}
	r, err := File(t.Context(), k.c, k.url("/d/f"), k.path("f"), o)
	if err != nil || r.Verified != "md5 from the server" {
		t.Errorf("got %+v, %v", r, err)
	}
}

// digestOf returns the digits of a text's digest.
func digestOf(t *testing.T, a, text string) string {
	t.Helper()
	h := algorithm.New(a)
	_, _ = h.Write([]byte(text))
	return fmt.Sprintf("%x", h.Sum(nil))
}
