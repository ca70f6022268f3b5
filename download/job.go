package download

import "example.com/ftpfetch/urlparse"

// job is what a download is about.
type job struct {
	src   Source
	u     *urlparse.URL
	url   string // of u, as journals name it
	o     *Options
	retry *retrier
}

// text reports a transfer in ASCII type: no size, no offset.
func (j *job) text() bool { return j.u != nil && j.u.Type == urlparse.TypeASCII }

// newJob gives o its defaults, on a copy.
func newJob(src Source, u *urlparse.URL, o *Options) *job {
	opts := o.orDefault(src)
	return &job{src: src, u: u, url: journalURL(u), o: opts, retry: newRetrier(opts)}
}
