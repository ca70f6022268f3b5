package download

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// Options.More reaches the connection: the next file's EPSV leaves at the end of
// the data.
func TestMore(t *testing.T) {
	for _, more := range []bool{false, true} {
		srv := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents"}})
		session := (&ftpexec.Client{}).Session()
		u, o := urlOf(t, srv.URL("/f")), &Options{More: func() bool { return more }}
		_, err := To(t.Context(), session, u, io.Discard, o)
		if err == nil {
			_, err = File(t.Context(), session, u, filepath.Join(t.TempDir(), "f"), o)
		}
		if err != nil {
			t.Fatal(err)
		}
		session.Close()
		if err := srv.WaitCommand(t.Context(), "QUIT"); err != nil {
			t.Fatal(err)
		}
		want := map[bool]string{false: "RETR f,EPSV,SIZE f,MDTM f,RETR f,QUIT", true: "RETR f,EPSV,SIZE f,MDTM f,RETR f,EPSV,QUIT"}[more]
		if got := strings.Join(srv.Commands(), ","); !strings.HasSuffix(got, want) {
			t.Errorf("More %v: the client sent %s, want %s", more, got, want)
		}
	}
}
