package ftpexec_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// Some servers say what is wrong in the lines before an "End".
func TestRefusalBeforeEnd(t *testing.T) {
	for reply, want := range map[string]struct {
		err  error
		says string
	}{
		"500-Command failed.\r\n500-open: No such file or directory\r\n500 End.": {ftpexec.ErrNotFound, "500 open: No such file or directory"},
		"500-Command failed.\r\n500-open: Permission denied\r\n500 End.":         {ftpexec.ErrRefused, "500 open: Permission denied"},
		"500-No such file\r\n500 Go away.":                                       {ftpexec.ErrNotFound, "500 Go away."},
		"500 End.":                                                               {ftpexec.ErrRefused, "500 End."},
	} {
		s := testserver.NewScript(t, testserver.Honest(""), testserver.On("^(SIZE|RETR)", testserver.Reply(reply)))
		_, err := read(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URL("/f")))
		if !errors.Is(err, want.err) || !strings.Contains(err.Error(), want.says) {
			t.Errorf("%q: got %v, want %v with %q", reply, err, want.err, want.says)
		}
	}
}

func TestSecretInReplies(t *testing.T) {
	t.Run("SIZE: truncated file called good", func(t *testing.T) {
		s := testserver.NewScript(t, testserver.Honest("contents"), testserver.On("SIZE", testserver.Reply("213 12345")),
			testserver.On("RETR", testserver.Transfer("cut")...))
		got, err := read(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URLAs("u:123", "/a/f")))
		if !errors.Is(err, ftpexec.ErrTruncated) {
			t.Errorf("got %q, %v; want ErrTruncated (3 of 12345 bytes)", got, err)
		}
	})
	t.Run("PASV", func(t *testing.T) {
		s := testserver.NewScript(t, testserver.Honest("contents"), testserver.On("EPSV", testserver.Reply("500 no")))
		got, err := read(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URLAs("u:127", "/a/f")))
		if err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("MDTM", func(t *testing.T) {
		s := testserver.NewScript(t, testserver.Honest("contents"))
		info, err := (&ftpexec.Client{MaxIdle: -1}).Stat(t.Context(), parse(t, s.URLAs("u:2020", "/a/f")))
		if err != nil || info.ModTime.IsZero() {
			t.Errorf("got %v, %v", info, err)
		}
	})
	t.Run("PWD", func(t *testing.T) {
		s := testserver.NewScript(t, testserver.Honest("contents"), testserver.On("PWD", testserver.Reply(`257 "/home/demo"`)),
			testserver.On("^CWD .*[*]", testserver.Reply("550 no such directory")))
		session := &ftpexec.Client{}
		defer session.CloseIdleConnections()
		for _, p := range []string{"/a/f", "/b/f"} {
			if got, err := read(t.Context(), session, parse(t, s.URLAs("demo:demo", p))); err != nil {
				t.Errorf("%s: got %q, %v; commands %q", p, got, err, s.Commands())
			}
		}
	})
}

func TestSizeAfterAccount(t *testing.T) {
	s := testserver.NewScript(t, testserver.Honest("contents"), testserver.On("PASS", testserver.Reply("332 account")),
		testserver.On("RETR", testserver.Transfer("cont")...))
	c := &ftpexec.Client{MaxIdle: -1, Credentials: fixed("word")}
	got, err := read(t.Context(), c, parse(t, s.URLAs("u", "/a/f")))
	if !errors.Is(err, ftpexec.ErrTruncated) {
		t.Errorf("got %q, %v, want ErrTruncated; commands %q", got, err, s.Commands())
	}
}

// A size in the name of the file, or of a directory, is not the size.
func TestAnnouncedByName(t *testing.T) {
	for opening, want := range map[string]error{
		"150 Opening BINARY mode data connection for f (5 bytes) (8 bytes).":             ftpexec.ErrTruncated,
		"150 Opening BINARY mode data connection for /d (9 bytes)/f (5 bytes) (8 bytes)": ftpexec.ErrTruncated,
		"150 Opening BINARY mode data connection for F (5 BYTES) (8 Bytes).":             ftpexec.ErrTruncated,
		"150 Opening data connection for f (5 bytes).":                                   nil,
		"150 Opening data connection for 'x (9 bytes)/f (5 bytes)'":                      nil,
		"150 (/srv/x (9 bytes)/f)":                                                       nil,
		"150 Opening data connection for a (4 bytes)":                                    nil,
	} {
		s := testserver.NewScript(t, testserver.Honest(""), testserver.On("SIZE", testserver.Reply("500 x")),
			testserver.On("RETR", testserver.Reply(opening), testserver.SendData("con"), testserver.CloseData(), testserver.Reply("226 x")))
		got, err := read(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URL("/a%20(4%20bytes)/f%20(5%20bytes)")))
		if !errors.Is(err, want) {
			t.Errorf("%s: got %q, %v, want %v", opening, got, err, want)
		}
	}
}

func TestDigestIsNotTheName(t *testing.T) {
	name, digest := strings.Repeat("ab", 16), strings.Repeat("cd", 16)
	s := testserver.NewScript(t, testserver.Honest(""), testserver.On("FEAT", testserver.Reply("211-x\r\n MD5\r\n211 End")),
		testserver.On("MD5", testserver.Reply("251 "+name+" "+digest)))
	got, err := (&ftpexec.Client{MaxIdle: -1}).Hash(t.Context(), parse(t, s.URL("/"+name)), "md5")
	if hex.EncodeToString(got) != digest {
		t.Errorf("got %x, %v, want %s", got, err, digest)
	}
}

func TestPasswordCutInSyntaxError(t *testing.T) {
	s := testserver.NewScript(t, testserver.Honest(""),
		testserver.On("PASS", testserver.Reply(strings.Repeat("x", 70)+"verysecretword")))
	c := &ftpexec.Client{MaxIdle: -1, NoPipelining: true}
	_, err := read(t.Context(), c, parse(t, s.URLAs("u:verysecretword", "/a/f")))
	if err == nil || strings.Contains(err.Error(), "verysecret") {
		t.Errorf("error %v", err)
	}
}

// Read returns what came before half a line end, while the other half has not come.
func TestTextDoesNotHoldBack(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		release := make(chan struct{})
		s := network.NewScript(t, testserver.Honest(""), testserver.On("RETR", testserver.Reply("150 x"), testserver.SendData("line\r"),
			testserver.Call(func() { <-release }), testserver.SendData("\nmore"), testserver.CloseData(), testserver.Reply("226 x")))
		r, err := (&ftpexec.Client{MaxIdle: -1, Dial: network.Dial}).Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/a/f;type=a"))})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		var got []byte
		go func() {
			b := make([]byte, 100)
			n, _ := r.Body.Read(b)
			got = b[:n]
		}()
		synctest.Wait()
		if string(got) != "line" {
			t.Errorf("got %q while the server waits, want %q", got, "line")
		}
		close(release)
		synctest.Wait()
	})
}

func TestStrayReply(t *testing.T) {
	s := testserver.NewScript(t, testserver.Honest("contents"), testserver.OnConn(1,
		testserver.On("RETR", testserver.Reply("550 no\r\n226 aborted"))))
	session := &ftpexec.Client{}
	defer session.CloseIdleConnections()
	read(t.Context(), session, parse(t, s.URL("/a/missing")))
	for _, p := range []string{"/a/g", "/a/h"} {
		info, err := session.Stat(t.Context(), parse(t, s.URL(p)))
		if err != nil || info.Size != 8 {
			t.Errorf("%s: %+v, %v, want size 8", p, info, err)
		}
	}
}

func TestStrayReplyHidesARefusal(t *testing.T) {
	s := testserver.NewScript(t, testserver.Honest("contents"), testserver.OnConn(1,
		testserver.On("RETR", testserver.Reply("550 no\r\n226 aborted"))), testserver.On("CWD missing", testserver.Reply("550 no")))
	session := &ftpexec.Client{}
	defer session.CloseIdleConnections()
	read(t.Context(), session, parse(t, s.URL("/a/x")))
	if _, err := session.Stat(t.Context(), parse(t, s.URL("/missing/f"))); !errors.Is(err, ftpexec.ErrDirectory) {
		t.Errorf("got %v, want ErrDirectory", err)
	}
}
