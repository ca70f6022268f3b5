//go:build linux

package many

import (
	"fmt"

	"example.com/ftpfetch/internal/bench/lab"
)

// form is the shape of a command line that a job asks for.
type form string

const (
	formList  form = "list"
	formTree  form = "tree"
	formLarge form = "large"
)

// job is one case: something to fetch in one invocation of a client.
type job struct {
	number    int
	title     string
	form      form
	files     *files
	caps      []int     // of connections
	reference int       // the cap of the run of ftpfetch that others are compared with; 0: the same
	link      *lab.Link // nil: loopback
	port      int
	window    int // the client's TCP receive buffer in bytes; 0: the system's
	allowed   int // connections that the server allows; 0: any number
}

func (w *world) jobs() []*job {
	list, many := w.served.list, []int{1, 6, 10}
	title := fmt.Sprintf("%d files of %d bytes", len(list.names), fileSize)
	limited := func(server string, port int) *job {
		return &job{number: 5, title: title + " from " + server + ", which allows 3 connections an address",
			form: formList, files: list, caps: []int{3, 8}, reference: 3, link: w.far, port: port, allowed: 3}
	}
	return []*job{
		{number: 1, title: fmt.Sprintf("%s over a round trip of %s", title, rtt(w.far)),
			form: formList, files: list, caps: many, link: w.far, port: freePort},
		{number: 2, title: fmt.Sprintf("%d files of %d bytes on loopback", len(w.served.long.names), fileSize),
			form: formList, files: w.served.long, caps: many, port: loopbackPort},
		{number: 3, title: fmt.Sprintf("A tree of %d files and %d links over a round trip of %s",
			len(w.served.tree.names), len(w.served.tree.links), rtt(w.mid)),
			form: formTree, files: w.served.tree, caps: many, link: w.mid, port: freePort},
		{number: 4, title: fmt.Sprintf("One file of %d MiB over a round trip of %s, %g MB/s and receive buffers of %d KiB",
			w.served.large.size()>>20, rtt(w.narrow), rate/1e6, window>>10),
			form: formLarge, files: w.served.large, caps: []int{1, 4}, link: w.narrow, port: freePort, window: window},
		limited("vsftpd", vsftpdPort),
		limited("pure-ftpd", pureFTPdPort),
	}
}

func rtt(l *lab.Link) string { return (2 * l.OneWay).String() }

func (j *job) host() string {
	if j.link == nil {
		return "127.0.0.1"
	}
	return j.link.Host()
}

// base returns the URL of the job's directory, with its final slash.
func (j *job) base() string {
	host := j.host()
	if j.port != freePort {
		host = fmt.Sprintf("%s:%d", host, j.port)
	}
	return "ftp://" + host + "/" + j.files.dir + "/"
}
