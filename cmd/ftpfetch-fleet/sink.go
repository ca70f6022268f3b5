package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"iter"
	"net/url"
	"strings"
	"time"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob"
	_ "gocloud.dev/blob/fileblob"
	_ "gocloud.dev/blob/gcsblob"
	_ "gocloud.dev/blob/memblob"
	_ "gocloud.dev/blob/s3blob"
	"gocloud.dev/gcerrors"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/internal/local/localfile"
)

// openSink opens the bucket that --to names and lists it, so that a worker that cannot use it takes no chunk. It sets
// w.where.
func (w *worker) openSink(ctx context.Context, c *command) error {
	u, err := url.Parse(c.to)
	if err != nil || u.User != nil || !blob.DefaultURLMux().ValidBucketScheme(u.Scheme) { // the URL may have a password
		return usage("--to: write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, azblob://CONTAINER/PREFIX, file:///DIR " +
			"or mem://, without a login: that comes from the environment")
	}
	where, _, _ := strings.Cut(c.to, "?")
	w.where = strings.TrimRight(where, "/") + "/"
	prefix := strings.Trim(u.Path, "/")
	if u.Scheme == "file" { // a file gets its name by a rename, which works only within its file system
		prefix = ""
		options := u.Query()
		options.Set("no_tmp_dir", "true")
		u.RawQuery = options.Encode()
	} else {
		u.Path = ""
	}
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	if w.sink, err = blob.OpenBucket(ctx, u.String()); err == nil {
		if prefix != "" {
			w.sink = blob.PrefixedBucket(w.sink, prefix+"/")
		}
		err = w.usable(ctx)
	}
	return localfile.Failure(w.where, "cannot be used", err)
}

// usable returns an error if the sink does not answer, or does not let this worker list it.
func (w *worker) usable(ctx context.Context) error {
	_, _, err := w.sink.ListPage(ctx, blob.FirstPageToken, 1, nil)
	return err
}

// object is a file on its way to a sink. It exists in the sink once end has returned nil, and not before.
type object struct {
	*outcome
	manifest.Item
	ctx    context.Context
	from   *source
	hash   hash.Hash      // of the bytes that have arrived
	held   bytes.Buffer   // the first bytes: a store takes metadata, such as the digest, only at the beginning
	in     *io.PipeWriter // for the later bytes; nil: nothing was sent yet
	undo   func()
	stored chan error // the result of the upload
}

// Write implements io.Writer.
func (b *object) Write(p []byte) (int, error) {
	_, _ = b.hash.Write(p)
	if b.in == nil && b.held.Len()+len(p) <= 4<<20 {
		return b.held.Write(p)
	}
	if err := b.begin(b.Sum); err != nil {
		return 0, err
	}
	return b.in.Write(p)
}

// begin starts the upload, if it has not started.
func (b *object) begin(sum digest.Sum) error {
	if b.in != nil {
		return nil
	}
	o := &blob.WriterOptions{
		ContentType: "application/octet-stream", BufferSize: 32 << 20, MaxConcurrency: 2,
		Metadata: map[string]string{"job": b.c.Job},
	}
	if b.Size != nil {
		o.BufferSize = int(max(8<<20, *b.Size/9000)) // S3 takes 10,000 parts
	}
	if sum.Algorithm != "" {
		o.Metadata["algorithm"] = string(sum.Algorithm)
		o.Metadata["digest"] = hex.EncodeToString(sum.Digest)
	}
	if made := b.from.made.Load(); made != nil && !made.IsZero() {
		o.Metadata["time"] = made.UTC().Format(time.RFC3339Nano)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.ctx))
	out, in := io.Pipe()
	b.in = in
	b.undo = func() {
		if strings.HasPrefix(b.w.where, "s3:") { // the driver removes the parts, and needs ctx for that
			time.AfterFunc(asking, cancel)
		} else {
			cancel() // without that, the other drivers would store what they have
		}
		in.CloseWithError(context.Canceled)
	}
	b.stored = make(chan error, 1)
	context.AfterFunc(b.ctx, b.undo)
	go func() {
		err := b.w.sink.Upload(ctx, b.Path, out, o)
		cancel()
		out.CloseWithError(err)
		b.stored <- err
	}()
	_, err := b.held.WriteTo(in)
	return err
}

// drop drops the objects that have not ended.
func (o *outcome) drop() {
	for _, b := range o.open {
		_ = b.end(new(download.Result), context.Canceled)
	}
	o.open = nil
}

// end makes the object appear, unless the file has failed.
func (b *object) end(r *download.Result, failed error) error {
	if failed == nil {
		if r.Sum.Algorithm == "" {
			r.Sum = digest.Sum{Algorithm: "sha256", Digest: b.hash.Sum(nil)}
		}
		if b.begin(r.Sum) == nil { // otherwise stored has the error
			b.in.Close()
		}
	} else if b.in != nil {
		b.undo()
	}
	if b.in == nil {
		return failed
	}
	b.in = nil
	return cmp.Or(failed, localfile.Failure(b.Path, "cannot be stored", <-b.stored))
}

// there returns a Result whose Left says why a file need not be fetched, or one without Left. The error says that
// another object has the name, or that the store, or the server of the file, does not answer.
func (o *outcome) there(ctx context.Context, from *source, i manifest.Item) (r download.Result, err error) {
	a, err := o.w.sink.Attributes(ctx, i.Path)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return r, nil
	}
	if err != nil {
		return r, localfile.Failure(i.Path, "cannot be looked for", err)
	}
	r.Size = a.Size
	r.Sum, _ = digest.Parse(a.Metadata["algorithm"] + ":" + a.Metadata["digest"])
	sized := i.Size == nil || *i.Size == a.Size
	switch existing := o.c.Terms.Existing; {
	case sized && a.Metadata["job"] == o.c.Job:
		r.Left = "this job has brought it"
	case existing == download.Skip:
		r.Left = "it is there"
	case existing == download.Overwrite:
		return r, nil
	case sized && i.Sum.Algorithm != "" && i.Sum.String() == r.Sum.String():
		r.Left = "it has the digest"
	}
	if r.Left != "" {
		return r, nil
	}
	e, err := from.Stat(ctx, i.URLs[0])
	if err != nil {
		return r, err
	}
	// The time of the server's file when the object was stored. Objects of other programs have none.
	made, err := time.Parse(time.RFC3339Nano, a.Metadata["time"])
	dated := err == nil && !e.ModTime.IsZero()
	err = nil
	differs := i.Sum.Algorithm != "" && i.Sum.Algorithm == r.Sum.Algorithm
	switch same := sized && e.Size == a.Size && !differs; {
	case same && dated && e.ModTime.Equal(made):
		r.Left = "it has the size and the time of the server's file"
	case o.c.Terms.Existing == download.Newer && same && !e.ModTime.IsZero() && !e.ModTime.After(cmp.Or(made, a.ModTime)):
		r.Left = "the server's file is no newer"
	case o.c.Terms.Existing == download.Newer:
	default:
		err = &localfile.Error{Path: i.Path, Err: localfile.ErrOther,
			Reason: "is there, and not known to be the same: --overwrite replaces it, --no-clobber leaves it"}
	}
	return r, err
}

// toSink yields the tasks whose files are not in the sink, each with its object.
func (o *outcome) toSink(ctx context.Context, from *source, all iter.Seq[download.Task]) iter.Seq[download.Task] {
	return func(yield func(download.Task) bool) {
		for t := range all {
			r, err := o.there(ctx, from, itemOf(&t))
			if err != nil || r.Left != "" {
				if ctx.Err() == nil {
					o.event(download.Event{Kind: download.Ended, Err: err, Task: &t, Result: r})
				}
				continue
			}
			b := &object{outcome: o, Item: itemOf(&t), ctx: ctx, from: from, hash: sha256.New()}
			o.open = append(o.open, b)
			t.Writer = b
			if !yield(t) {
				return
			}
		}
	}
}
