package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// check computes a digest while octets pass and compares it at the end.
type check struct {
	want digest.Sum
	from string // what Result.Verified says
	h    hash.Hash
	at   int64 // octets that h has seen
}

func newCheck(want digest.Sum, from string) *check {
	return &check{want: want, from: from, h: digest.New(want.Algorithm)}
}

func (c *check) Write(p []byte) (int, error) {
	n, err := c.h.Write(p)
	c.at += int64(n)
	return n, err
}

func (c *check) reset() {
	c.h.Reset()
	c.at = 0
}

// reach brings the digest to the first n octets of the file at path: what it
// has not seen pass comes from f. It ends with ctx.
func (c *check) reach(ctx context.Context, f io.ReaderAt, n int64, path string) error {
	if c.at > n {
		c.reset()
	}
	in := &reader{ctx, io.NewSectionReader(f, c.at, n-c.at)}
	_, err := io.CopyBuffer(onlyWriter{c}, in, make([]byte, bufferSize))
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil && c.at != n:
		err = fmt.Errorf("%w after %d octets", io.ErrUnexpectedEOF, c.at)
	}
	if err != nil {
		return failure(path, "cannot be read", err)
	}
	return nil
}

// reader reads until its context ends.
type reader struct {
	ctx context.Context // an io.Reader's method takes none
	r   io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// compare returns what differs, or nil.
func (c *check) compare() error {
	got := digest.Sum{Algorithm: c.want.Algorithm, Digest: c.h.Sum(nil)}
	if got.Equal(c.want) {
		return nil
	}
	return &refusal{ErrDigest, fmt.Sprintf("%s is %s, not %s (%s)", got.Algorithm, got.Hex(), c.want.Hex(), c.from)}
}

// expect finds the digest that the file must have, where one is asked for.
func (r *retrieval) expect(ctx context.Context) error {
	var err error
	r.check, err = expected(ctx, r.src, r.u, r.o, r.retry)
	return err
}

// expected is Options.Sum, or with Options.Verify what the server offers: a
// list beside the file, then a digest that it computes. It is looked for
// before the file itself, so that the digest is computed while octets pass.
func expected(ctx context.Context, src Source, u *urlparse.URL, o *Options, retry *retrier) (*check, error) {
	if o.Sum.Algorithm != "" {
		return newCheck(o.Sum, string(o.Sum.Algorithm)+" given"), nil
	}
	if !o.Verify {
		return nil, nil
	}
	if u.Type == urlparse.TypeASCII {
		return nil, &refusal{ErrUnverified, "a text transfer (;type=a) changes octets and cannot be verified"}
	}
	v := &verifier{src: src, u: u, retry: retry}
	c, err := v.sidecar(ctx)
	if c == nil && err == nil {
		c, err = v.server(ctx)
	}
	if c == nil && err == nil {
		err = &refusal{ErrUnverified, "there is no list of digests beside the file, and the server computes none"}
	}
	return c, err
}

// verifier looks on the server for a digest of u.
type verifier struct {
	src   Source
	u     *urlparse.URL
	retry *retrier
}

// sidecar looks into the lists beside the file, the best first.
func (v *verifier) sidecar(ctx context.Context) (*check, error) {
	there := v.listing(ctx)
	for _, side := range digest.Sidecars(v.u.Name) {
		if there != nil && !slices.Contains(there, side.File) {
			continue
		}
		var sum digest.Sum
		err := v.retry.do(ctx, func() (err error) {
			sum, err = v.read(ctx, side)
			return err
		})
		var refused *ftpexec.Error
		switch {
		case err == nil:
			return newCheck(sum, string(sum.Algorithm)+" in "+side.File), nil
		case ctx.Err() != nil:
			return nil, err
		case errors.Is(err, digest.ErrNotListed), errors.As(err, &refused) && refused.Reply != nil && refused.Reply.Code/100 == 5:
			continue
		case errors.Is(err, digest.ErrTooLarge), errors.Is(err, digest.ErrAmbiguous):
			return nil, &refusal{ErrUnverified, side.File + ": " + err.Error()}
		}
		return nil, fmt.Errorf("%s: %w", side.File, err)
	}
	return nil, nil
}

// listing returns the names in the file's directory; nil where that cannot be
// had, which is no reason not to try.
func (v *verifier) listing(ctx context.Context) []string {
	dir := *v.u
	dir.Name, dir.Type = "", urlparse.TypeNone
	names := []string{}
	for e, err := range v.src.ListURL(ctx, &dir) {
		if err != nil {
			return nil
		}
		names = append(names, e.Base)
	}
	if !slices.Contains(names, v.u.Name) {
		return nil // vsftpd lists nothing of a directory that it may not read
	}
	return names
}

// read retrieves a list and finds the file in it.
func (v *verifier) read(ctx context.Context, side digest.Sidecar) (digest.Sum, error) {
	u := *v.u
	u.Name, u.Type = side.File, urlparse.TypeImage
	resp, err := v.src.OpenFrom(ctx, &u, 0)
	if err != nil {
		return digest.Sum{}, err
	}
	defer resp.Body.Close()
	// Read to its end first: of a list cut short no line counts.
	text, err := io.ReadAll(io.LimitReader(resp.Body, digest.MaxList+1))
	if err != nil {
		return digest.Sum{}, err
	}
	return side.Find(bytes.NewReader(text), v.u.Name)
}

// server asks the server to compute a digest.
func (v *verifier) server(ctx context.Context) (*check, error) {
	for _, a := range digest.Algorithms() {
		if a == digest.BLAKE2b {
			continue // no command has it
		}
		var d []byte
		err := v.retry.do(ctx, func() (err error) {
			d, err = v.src.Hash(ctx, v.u, string(a))
			return err
		})
		switch {
		case err == nil:
			return newCheck(digest.Sum{Algorithm: a, Digest: d}, string(a)+" from the server"), nil
		case !errors.Is(err, ftpexec.ErrNoHash):
			return nil, err
		}
	}
	return nil, nil
}
