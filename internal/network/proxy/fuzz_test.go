package proxy

import (
	"strings"
	"testing"
)

func FuzzFinalStatus(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\n\r\n220 hello\r\n", "HTTP/1.0 407\n\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200\r\nA: b\r\n\r\n", "220 x\r\n\r\n", "\n\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		r := strings.NewReader(answer)
		status, err := finalStatus(r)
		if err == nil && (status/100 == 1 || status > 999) {
			t.Errorf("%q: status %d", answer, status)
		}
		read := len(answer) - r.Len()
		if read > MaxHeader {
			t.Errorf("%d bytes were read", read)
		}
		if err == nil && !strings.HasSuffix(answer[:read], "\n") {
			t.Errorf("%q: read up to the middle of a line", answer)
		}
	})
}
