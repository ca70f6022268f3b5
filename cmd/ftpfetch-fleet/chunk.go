package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/urlparse"
)

// The most that a chunk holds. One that is lost with its worker is fetched again, and its text fits into a message.
const (
	mostFiles = 256
	mostBytes = 1 << 30
	mostText  = 512 << 10
)

// item is a manifest.Item that travels. It has no password: the workers take those from their netrc files.
type item struct {
	URLs []string `json:"u"`
	Path string   `json:"p,omitempty"`
	Raw  []byte   `json:"raw,omitempty"` // in place of Path, if that is not UTF-8
	Size *int64   `json:"s,omitempty"`
	Sum  string   `json:"d,omitempty"`
	Line int      `json:"l,omitempty"`
}

func pack(from manifest.Item) item {
	to := item{Path: from.Path, Size: from.Size, Sum: from.Sum.String(), Line: from.Line}
	for _, u := range from.URLs {
		to.URLs = append(to.URLs, u.WithoutPassword().String())
	}
	if !utf8.ValidString(to.Path) {
		to.Path, to.Raw = "", []byte(to.Path)
	}
	return to
}

func (i item) unpack() (to manifest.Item, err error) {
	to = manifest.Item{Path: cmp.Or(i.Path, string(i.Raw)), Size: i.Size, Line: i.Line}
	for _, text := range i.URLs {
		u, err := urlparse.Parse(text)
		if err != nil {
			return to, err
		}
		to.URLs = append(to.URLs, u)
	}
	if i.Sum != "" {
		to.Sum, err = digest.Parse(i.Sum)
	}
	return to, err
}

// terms are how the files of a job are to be fetched.
type terms struct {
	Overwrite, Skip, Newer, Continue, NoResume, Verify, RetryConnect bool
	Retries                                                          int
	Timeout                                                          time.Duration
}

func termsOf(o batch.Options) terms {
	e := o.Each
	return terms{e.Overwrite, e.Skip, e.Newer, e.Continue, e.NoResume, e.Verify, e.RetryConnect, e.Retries, o.Timeout}
}

func (t terms) each() download.Options {
	return download.Options{
		Overwrite: t.Overwrite, Skip: t.Skip, Newer: t.Newer, Continue: t.Continue, NoResume: t.NoResume, Verify: t.Verify,
		RetryConnect: t.RetryConnect, Retries: t.Retries,
	}
}

// chunk is the work of one message: files of one host.
type chunk struct {
	Job   string `json:"job"`
	N     int    `json:"n"`    // from 1
	Host  string `json:"host"` // host:port
	Terms terms  `json:"terms"`
	Items []item `json:"items"`

	again bool // one of the worker's name has had it
}

// hostKey stands for a host in subjects and keys.
func hostKey(address string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(address)))
	return hex.EncodeToString(sum[:8])
}

// host is a server that files come from.
type host struct {
	Address string `json:"address"`
	PerHost int    `json:"per_host"` // connections for each egress
}

// job is a list that was added.
type job struct {
	ID      string    `json:"job"`
	State   string    `json:"state"` // adding, ready or cancelled
	Added   time.Time `json:"added"`
	List    string    `json:"list"`
	Files   int64     `json:"files"`
	Size    int64     `json:"size"` // -1: unknown
	Chunks  int       `json:"chunks"`
	Unasked int64     `json:"-"` // passwords that do not travel
}

// chunks cuts tasks into chunks, each of one host, and counts them in j.
func (j *job) chunks(tasks iter.Seq[batch.Task], t terms) iter.Seq2[chunk, error] {
	type open struct {
		chunk
		bytes int64
		text  int
	}
	return func(yield func(chunk, error) bool) {
		hosts, order := make(map[string]*open), []string(nil)
		flush := func(o *open) bool {
			j.Chunks++
			o.N = j.Chunks
			return yield(o.chunk, nil)
		}
		for task := range tasks {
			if task.Tree != nil {
				yield(chunk{}, usage("a fleet fetches lists of files: ftpfetch -I -r URL prints the files of a tree, for a list"))
				return
			}
			i := pack(task.Item)
			if j.count(task.Item); len(i.URLs) == 0 {
				continue
			}
			text, err := json.Marshal(i)
			if err != nil || len(text) > mostText {
				yield(chunk{}, fmt.Errorf("line %d is too long for a message", i.Line))
				return
			}
			address := task.URLs[0].Address()
			o := hosts[address]
			size := int64(0)
			if i.Size != nil {
				size = *i.Size
			}
			if o != nil && (len(o.Items) == mostFiles || o.bytes+size > mostBytes || o.text+len(text) > mostText) {
				if !flush(o) {
					return
				}
				o.Items, o.bytes, o.text = nil, 0, 0
			}
			if o == nil {
				o = &open{chunk: chunk{Job: j.ID, Host: address, Terms: t}}
				hosts[address], order = o, append(order, address)
			}
			o.Items, o.bytes, o.text = append(o.Items, i), o.bytes+size, o.text+len(text)+1
		}
		for _, address := range order {
			if o := hosts[address]; !flush(o) {
				return
			}
		}
	}
}

func (j *job) count(i manifest.Item) {
	if j.Files++; i.Size == nil {
		j.Size = -1
	} else if j.Size >= 0 {
		j.Size += *i.Size
	}
	if slices.ContainsFunc(i.URLs, func(u *urlparse.URL) bool { _, ok := u.User.Password(); return ok }) {
		j.Unasked++
	}
}
