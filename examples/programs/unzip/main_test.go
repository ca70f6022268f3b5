package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.com/ftpfetch/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// archive returns a ZIP archive whose member "large" takes most of it.
func archive(t *testing.T) string {
	t.Helper()
	large := make([]byte, 4<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(large) // never fails
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string][]byte{"a.txt": []byte("one"), "dir/b.txt": []byte("two"), "large": large} {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestUnzip(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/pub/x.zip": archive(t), "/pub/a b.zip": archive(t), "/pub/no.zip": "text", "/pub/dir/f": ""}})
	for _, tt := range []struct {
		name    string
		members []string
		want    string
		fails   bool
	}{
		{"x.zip", []string{"a.txt", "dir/b.txt"}, "onetwo", false},
		{"a%20b.zip", []string{"a.txt"}, "one", false},
		{"x.zip", nil, "a.txt dir/b.txt large", false},
		{"x.zip", []string{"absent"}, "", true},
		{"no.zip", nil, "", true},
		{"dir", nil, "", true},
		{"absent.zip", nil, "", true},
	} {
		s.ResetCommands()
		var out bytes.Buffer
		err := unzip(t.Context(), s.URL("/pub/"+tt.name), tt.members, &out)
		got := strings.Fields(out.String())
		slices.Sort(got)
		if strings.Join(got, " ") != tt.want || (err != nil) != tt.fails {
			t.Errorf("%s %q: %q, %v", tt.name, tt.members, got, err)
		}
		if logins := strings.Count(strings.Join(s.Commands(), "\n"), "USER "); logins > 2 {
			t.Errorf("%s %q: %d logins", tt.name, tt.members, logins)
		}
	}
}

// TestAbsent checks that a missing archive is told apart from others.
func TestAbsent(t *testing.T) {
	s := testserver.New(t, nil)
	if err := unzip(t.Context(), s.URL("/x.zip"), nil, new(bytes.Buffer)); !errors.Is(err, fs.ErrNotExist) {
		t.Error(fmt.Sprint(err))
	}
}
