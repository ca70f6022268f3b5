package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/urlparse"
)

// The limits of a chunk. A chunk that is lost with its worker is fetched again, and its text must fit into a message.
const (
	mostFiles = 256
	mostBytes = 1 << 30
	mostText  = 512 << 10
)

// itemOf returns the item of a list that a task is made of.
func itemOf(t *download.Task) manifest.Item {
	return manifest.Item{URLs: t.URLs, Path: t.Path, Size: t.Size, Sum: t.Sum, Line: t.Line}
}

// item is a manifest.Item as it is sent. It has no password: the workers take passwords from their netrc files.
type item struct {
	URLs []string `json:"u"`
	Path string   `json:"p,omitempty"`
	Raw  []byte   `json:"raw,omitempty"` // replaces Path if that is not UTF-8
	Size *int64   `json:"s,omitempty"`
	Sum  string   `json:"d,omitempty"`
	Line int      `json:"l,omitempty"`
}

// login matches what looks like the login of a second URL in a path, as in ftp://proxy/ftp://me:secret@host/file.
var login = regexp.MustCompile(`//[^/]*:[^/]*@`)

// pack returns an item as it is sent. It refuses an item of which a part that must be sent may be a password.
func pack(from manifest.Item) (to item, err error) {
	to = item{Path: from.Path, Size: from.Size, Sum: from.Sum.String(), Line: from.Line}
	if len(from.URLs) == 0 {
		return to, errors.New("it has no URL")
	}
	for _, u := range from.URLs {
		switch path := strings.Join(append(slices.Clone(u.Dirs), u.Name), "/"); { // errors do not show the path
		case strings.Contains(u.User.Username(), ":"):
			return to, errors.New("behind the colon of the user name may be a password, which all workers would see: " +
				"write the user alone, and the password to their netrc files")
		case login.MatchString("/" + path):
			return to, errors.New("in the path is what looks like a login, which all workers would see: " +
				"write it without the password")
		}
		to.URLs = append(to.URLs, u.WithoutPassword().String())
	}
	if !utf8.ValidString(to.Path) {
		to.Path, to.Raw = "", []byte(to.Path)
	}
	return to, nil
}

func (i item) path() string { return cmp.Or(i.Path, string(i.Raw)) }

func (i item) unpack() (to manifest.Item, err error) {
	to = manifest.Item{Path: i.path(), Size: i.Size, Line: i.Line}
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

// terms are how the files of a job are to be fetched: the options that JSON has, and the time for each.
type terms struct {
	download.Options
	Timeout time.Duration
}

func termsOf(o *download.RunOptions) terms { return terms{o.Each, o.Timeout} }

func (t terms) each(root *os.Root) download.Options {
	t.Root = root
	return t.Options
}

// chunk is the work in one message: files of one host.
type chunk struct {
	Job   string `json:"job"`
	ID    string `json:"id"`   // "17"; "17-3" is a piece that it gave away, and "r1-2" is of a retry
	Host  string `json:"host"` // host:port
	Terms terms  `json:"terms"`
	Items []item `json:"items"`
	// Not names the workers that could not fetch these files, although the server did not refuse them.
	Not []string `json:"not,omitempty"`

	files    int64  // number of files in the chunk
	attempt  string // name of this worker's attempt; "" if its parts need none
	inherits bool   // the attempt may have parts of earlier ones
	chain
}

// chunkHeader names the header of a chunk that has its job, its number and its number of files. A worker that cannot
// read the chunk needs these to give each file an outcome.
const chunkHeader = "Fleet-Chunk"

// message returns the message of a chunk.
func (f *fleet) message(c *chunk) (*nats.Msg, error) { return f.messageOf(c, c, len(c.Items)) }

// messageOf returns the message of chunk c that holds body, with this number of files.
func (f *fleet) messageOf(c *chunk, body any, files int) (*nats.Msg, error) {
	text, err := json.Marshal(body)
	of := fmt.Sprintf("%s %s %d", c.Job, c.ID, files)
	to := f.subject("work", c.Job, hostKey(c.Host))
	return &nats.Msg{Subject: to, Data: text, Header: nats.Header{chunkHeader: {of}}}, err
}

// readChunk returns the chunk in a message. With an error, the chunk has only what the header says; without a header,
// its Job is "".
func readChunk(header nats.Header, text []byte) (*chunk, error) {
	told, c := new(chunk), new(chunk)
	n, _ := fmt.Sscan(header.Get(chunkHeader), &told.Job, &told.ID, &told.files)
	if n < 3 || told.files < 0 {
		return new(chunk), errors.New("it has no header " + chunkHeader)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields() // an unknown field may restrict how the files are fetched
	err := d.Decode(c)
	c.files = int64(len(c.Items))
	if err == nil && (c.Job != told.Job || c.ID != told.ID || c.files != told.files) {
		err = errors.New("it is not the one that its header tells")
	}
	if err != nil {
		return told, err
	}
	return c, nil
}

// hostKey returns the name of a host in subjects and keys. A dot at the end of the host makes no difference.
func hostKey(address string) string {
	sum := sha256.Sum256([]byte(strings.Replace(strings.ToLower(address), ".:", ":", 1)))
	return hex.EncodeToString(sum[:8])
}

// host is a server that files come from, with what is in force there.
type host struct {
	Address string `json:"address"`
	bounds
	Since time.Time `json:"since,omitzero"` // when the bounds changed last
	By    string    `json:"by,omitempty"`   // the command that changed them: "add JOB" or "cap JOB"
}

// job is a list that was added.
type job struct {
	ID     string    `json:"job"`
	State  string    `json:"state"` // adding, ready, paused or cancelled
	Added  time.Time `json:"added"`
	List   string    `json:"list"`
	Files  int64     `json:"files"`
	Size   int64     `json:"size"` // -1: unknown
	Chunks int       `json:"chunks"`
	Terms  terms     `json:"terms"`
	bounds
	PerJob    int           `json:"per_job,omitempty"`  // files at a time, from each egress; 0: no limit
	JobRate   int64         `json:"job_rate,omitempty"` // bytes per second, from each egress; 0: no limit
	GiveUp    time.Duration `json:"give_up,omitempty"`  // until the files of a host that refuses all connections fail
	Priority  int           `json:"priority,omitempty"` // a job with a larger value is fetched first
	Expire    time.Duration `json:"expire,omitempty"`   // age after which a job that is over is deleted; 0: never
	Cancelled time.Time     `json:"cancelled,omitzero"` // when it was cancelled
	Unasked   int64         `json:"-"`                  // number of passwords that are not sent
	given     *wishes       // the flags of the add; nil: this is no add
}

// bounded reports whether the job has bounds beside those of its hosts.
func (j *job) bounded() bool { return j.PerJob > 0 || j.JobRate > 0 }

func (j *job) count(i manifest.Item) {
	j.Files++
	switch {
	case i.Size == nil || j.Size < 0 || *i.Size > math.MaxInt64-j.Size: // sizes may be anything
		j.Size = -1
	default:
		j.Size += *i.Size
	}
	if slices.ContainsFunc(i.URLs, func(u *urlparse.URL) bool {
		_, ok := u.User.Password()
		return ok
	}) {
		j.Unasked++
	}
}
