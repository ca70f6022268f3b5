package download

import (
	"io"
	"os"
	"strings"
	"testing"
)

// TestOptionsCheck checks that contradictory options are refused before the server is asked or any file touched.
func TestOptionsCheck(t *testing.T) {
	k := newKit(t, map[string]string{"/f": "contents"})
	for _, tt := range []struct {
		o    Options
		want []string
	}{
		{Options{Overwrite: true, Skip: true}, []string{"Overwrite", "Skip"}},
		{Options{Newer: true, Skip: true}, []string{"Newer", "Skip"}},
		{Options{Continue: true, Skip: true}, []string{"Continue", "Skip"}},
		{Options{Continue: true, Overwrite: true}, []string{"Continue", "Overwrite"}},
		{Options{Continue: true, NoResume: true}, []string{"Continue", "NoResume"}},
		{Options{Segments: maxSegments + 1}, []string{"Segments"}},
		{Options{Segments: -1}, []string{"Segments"}},
	} {
		_, err := k.get("/f", tt.o)
		if err == nil || !strings.Contains(err.Error(), strings.Join(tt.want, " and ")+" ") {
			t.Errorf("%+v: error %v, want one of %q", tt.o, err, tt.want)
		}
		if _, again := To(t.Context(), k.c, k.url("/f"), io.Discard, &tt.o); again == nil || again.Error() != err.Error() {
			t.Errorf("To: %+v: error %v, want %v", tt.o, again, err)
		}
	}
	if left, _ := os.ReadDir(k.dir); len(left) > 0 || k.Connections() > 0 {
		t.Errorf("%d files, %d connections", len(left), k.Connections())
	}
}

// TestURLWithoutPassword checks that no journal has a password.
func TestURLWithoutPassword(t *testing.T) {
	u := urlOf(t, "ftp://me:secret@h/f")
	if got := newJob(nil, u, nil).url; got != "ftp://me@h/f" {
		t.Errorf("got %s", got)
	}
	if _, ok := u.User.Password(); !ok {
		t.Error("the URL itself was changed")
	}
}
