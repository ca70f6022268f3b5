package ftpexec_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/testserver"
)

func TestOpenFrom(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/a/f": "0123456789"}})
	for _, sequential := range []bool{false, true} {
		session := closing(t, &ftpexec.Client{NoPipelining: sequential})
		for _, offset := range []int64{0, 3, 9, 10} {
			r := must.Get(session.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/a/f")), Offset: offset}))(t)
			got, err := io.ReadAll(r.Body)
			if err != nil || string(got) != "0123456789"[offset:] || r.Size != 10 {
				t.Errorf("from %d: got %q, %v, size %d", offset, got, err, r.Size)
			}
		}
		cmds := s.Commands()
		for i, line := range cmds {
			if strings.HasPrefix(line, "REST") && !strings.HasPrefix(cmds[i+1], "RETR") {
				t.Errorf("%q after %q: some servers forget REST then", cmds[i+1], line)
			}
		}
	}
}

// After a refused REST no RETR is sent, because it would bring the whole file. The session goes on.
func TestOpenFromRefused(t *testing.T) {
	for _, refusal := range []string{"502 what", "501 no", "200 fine", "554 too far"} {
		s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("REST", testserver.Reply(refusal)))
		session := closing(t, &ftpexec.Client{})
		_, err := session.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/a/f")), Offset: 3})
		if !errors.Is(err, ftpexec.ErrNoRestart) || slices.Contains(s.Commands(), "RETR f") {
			t.Errorf("%s: error %v, want ErrNoRestart; commands %q", refusal, err, s.Commands())
		}
		if got, err := read(t.Context(), session, parse(t, s.URL("/a/f"))); err != nil || got != "contents" || s.Connections() != 1 {
			t.Errorf("%s: from the beginning: got %q, %v on %d connections", refusal, got, err, s.Connections())
		}
	}
	_, err := (&ftpexec.Client{MaxIdle: -1}).Do(t.Context(), &ftpexec.Request{URL: parse(t, "ftp://h/f;type=a"), Offset: 3})
	if !errors.Is(err, ftpexec.ErrNoRestart) {
		t.Errorf("in ASCII type: error %v, want ErrNoRestart", err)
	}
}

func TestStat(t *testing.T) {
	when := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/a/f": "0123456789"}, ModTime: when})
	session := closing(t, &ftpexec.Client{})
	u := parse(t, s.URL("/a/f"))
	want := ftpexec.Entry{Name: "f", URL: u, Size: 10, ModTime: when, Precision: time.Second}
	if got, err := session.Stat(t.Context(), u); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if got, err := session.Stat(t.Context(), parse(t, s.URL("/a/missing"))); !errors.Is(err, ftpexec.ErrNotFound) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: got %+v, %v, want ErrNotFound", got, err)
	}
	if s.DataConnections() != 0 || s.Connections() != 1 || slices.Contains(s.Commands(), "EPSV") {
		t.Errorf("commands %q on %d connections", s.Commands(), s.Connections())
	}
}

// A file is missing only if the server says so to all that Stat asks.
func TestStatRefused(t *testing.T) {
	when := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, tt := range []struct {
		path, size, mdtm string
		want             ftpexec.Entry
		err              error // and what it means for package fs:
		means            error
	}{
		{"/f", "550 f: No such file", "550 f: No such file", ftpexec.Entry{}, ftpexec.ErrNotFound, fs.ErrNotExist},
		{"/f", "550 Could not get file size.", "550 Could not get file modification time.", ftpexec.Entry{}, ftpexec.ErrNotFound, fs.ErrNotExist},
		{"/f", "550 f: Permission denied", "550 f: Permission denied", ftpexec.Entry{}, ftpexec.ErrRefused, fs.ErrPermission},
		{"/f", "550 SIZE not allowed in ASCII mode", "213 20260203040506", ftpexec.Entry{Mode: fs.ModeIrregular, Size: -1, ModTime: when, Precision: time.Second}, nil, nil},
		{"/f", "213 8", "550 no", ftpexec.Entry{Size: 8}, nil, nil},
		{"/f", "550 no", "502 what", ftpexec.Entry{Mode: fs.ModeIrregular, Size: -1}, nil, nil},
		{"/f", "500 what", "550 no", ftpexec.Entry{Mode: fs.ModeIrregular, Size: -1}, nil, nil},
		{"/f", "500 what", "502 what", ftpexec.Entry{Mode: fs.ModeIrregular, Size: -1}, nil, nil},
		{"/f", "450 busy", "450 busy", ftpexec.Entry{Mode: fs.ModeIrregular, Size: -1}, nil, nil},
		{"/f;type=a", "500 what", "550 f: No such file", ftpexec.Entry{}, ftpexec.ErrNotFound, fs.ErrNotExist},
		{"/f", "213 x", "213 y", ftpexec.Entry{Mode: fs.ModeIrregular, Size: -1}, nil, nil},
		{"/f;type=a", "550 no", "213 20260203040506", ftpexec.Entry{Mode: fs.ModeIrregular, Size: -1, ModTime: when, Precision: time.Second}, nil, nil},
	} {
		for _, sequential := range []bool{false, true} {
			s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("SIZE", testserver.Reply(tt.size)), testserver.On("MDTM", testserver.Reply(tt.mdtm)))
			u := parse(t, s.URL(tt.path))
			if tt.err == nil {
				tt.want.Name, tt.want.URL = "f", u
			}
			got, err := (&ftpexec.Client{MaxIdle: -1, NoPipelining: sequential}).Stat(t.Context(), u)
			switch {
			case tt.err != nil:
				if !errors.Is(err, tt.err) || !errors.Is(err, tt.means) || got != (ftpexec.Entry{}) {
					t.Errorf("%s, %q, %q: got %+v, %v, want %v", tt.path, tt.size, tt.mdtm, got, err, tt.err)
				}
			case err != nil || got != tt.want:
				t.Errorf("%s, %q, %q: got %+v, %v, want %+v", tt.path, tt.size, tt.mdtm, got, err, tt.want)
			}
			s.Close()
		}
	}
}

func TestHash(t *testing.T) {
	sum := sha256.Sum256([]byte("contents"))
	for _, tt := range []struct {
		name, feat string
		step       testserver.Step
		want       error
		text       string // the end of the error
	}{
		{"HASH", "211-x\r\n HASH SHA-256*;MD5\r\n211 y", testserver.On("HASH", testserver.Reply(fmt.Sprintf("213 SHA-256 0-8 %x f", sum))), nil, ""},
		{"XSHA256", "211-x\r\n XSHA256\r\n211 y", testserver.On("XSHA256", testserver.Reply(fmt.Sprintf("250 %X", sum))), nil, ""},
		{"many on a line", "211-x\r\n XCRC;XMD5;XSHA256\r\n211 y", testserver.On("XSHA256", testserver.Reply(fmt.Sprintf("250 f %x", sum))), nil, ""},
		{"not offered", "211-x\r\n SIZE\r\n211 y", testserver.On("NOOP"), errors.ErrUnsupported, ": it offers no command for sha256"},
		{"other algorithm", "211-x\r\n HASH MD5\r\n XMD5\r\n211 y", testserver.On("NOOP"), errors.ErrUnsupported, ": it offers no command for sha256"},
		{"no FEAT", "500 what", testserver.On("NOOP"), errors.ErrUnsupported, ": it offers no command for sha256"},
		{"refused", "211-x\r\n XSHA256\r\n211 y", testserver.On("XSHA256", testserver.Reply("450 no")), errors.ErrUnsupported, "no digest from the server: it says 450 no"},
		{"no digest", "211-x\r\n XSHA256\r\n211 y", testserver.On("XSHA256", testserver.Reply("250 abcd")), errors.ErrUnsupported, ": it says 250 abcd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("FEAT", testserver.Reply(tt.feat)),
				testserver.On("OPTS", testserver.Reply("200 SHA-256")), tt.step)
			session := closing(t, &ftpexec.Client{})
			got, err := session.Hash(t.Context(), parse(t, s.URL("/a/f")), "sha256")
			if !errors.Is(err, tt.want) || tt.want == nil && string(got) != string(sum[:]) {
				t.Errorf("got %x, %v, want %x, %v", got, err, sum, tt.want)
			}
			if e := (*ftpexec.Error)(nil); errors.As(err, &e) && (!strings.HasSuffix(e.Error(), tt.text) || e.Temporary()) {
				t.Errorf("got %v, temporary %v, want %q at its end", err, e.Temporary(), tt.text)
			}
			wantContents(t, session, parse(t, s.URL("/a/f"))) // afterwards
		})
	}
}
