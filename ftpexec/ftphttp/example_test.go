package ftphttp_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/ftphttp"
	"example.com/ftpfetch/testserver"
)

func ExampleTransport() {
	s, err := testserver.Start(&testserver.Options{Tree: map[string]string{"/pub/motd": "hello\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	ftp := &ftphttp.Transport{Client: &ftpexec.Client{}}
	defer ftp.CloseIdleConnections()
	t := &http.Transport{}
	t.RegisterProtocol("ftp", ftp)
	c := &http.Client{Transport: t}

	req, err := http.NewRequest(http.MethodGet, s.URL("/pub/motd"), nil)
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set("Range", "bytes=2-")
	r, err := c.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Body.Close()
	fmt.Println(r.Status, r.Header.Get("Content-Range"))
	if _, err := io.Copy(os.Stdout, r.Body); err != nil { // nil only if every byte came and the server confirmed it
		log.Fatal(err)
	}
	// Output:
	// 206 Partial Content bytes 2-5/6
	// llo
}
