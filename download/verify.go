package download

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/algorithm"
	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/download/internal/sums"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/retry"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// check computes a digest from the bytes that are written to it, and compares it at the end.
type check struct {
	want digest.Sum
	from string // the text for Result.Verified
	// the server computed it, perhaps of another file
	computed bool
	h        hash.Hash
	at       int64 // bytes that h has read

	dropped int // how often the part had dropped bytes when h began: see partfile.Part.Head
}

func newCheck(want digest.Sum, from string) *check {
	return &check{want: want, from: from, h: algorithm.New(string(want.Algorithm))}
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

// sync starts over if the part has dropped bytes since h began, because h may have read them.
func (c *check) sync(p *partfile.Part) (head int64) {
	head, dropped := p.Head()
	if dropped != c.dropped {
		c.reset()
		c.dropped = dropped
	}
	return head
}

// follow makes the digest cover what the part has without a gap.
func (c *check) follow(ctx context.Context, p *partfile.Part) error {
	return c.reach(ctx, p.File(), c.sync(p))
}

// reach makes the digest cover the first n bytes of f. It reads from f the bytes that were not written to c, until ctx
// ends.
func (c *check) reach(ctx context.Context, f *os.File, n int64) error {
	if c.at > n {
		c.reset()
	}
	if c.at == n {
		return nil
	}
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	rest := io.NewSectionReader(disk.Reader{Ctx: ctx, F: f}, c.at, n-c.at)
	_, err := io.CopyBuffer(c, rest, buffer[:])
	if err == nil && c.at != n {
		err = fmt.Errorf("%w after %d bytes", io.ErrUnexpectedEOF, c.at)
	}
	return cmp.Or(context.Cause(ctx), localfile.Failure(f.Name(), "cannot be read", err))
}

// covers reports whether f consists of the n bytes that the digest covers.
func (c *check) covers(ctx context.Context, f *os.File, n int64) bool {
	info, err := f.Stat()
	if err != nil || info.Size() != n {
		return false
	}
	other := newCheck(c.want, c.from)
	return other.reach(ctx, f, n) == nil && bytes.Equal(other.h.Sum(nil), c.h.Sum(nil))
}

// compare compares the digest and sets it in r, with its source and the time. The error is [ErrDigest] if it differs.
func (c *check) compare(r *Result) error {
	got := digest.Sum{Algorithm: c.want.Algorithm, Digest: c.h.Sum(nil)}
	if got.String() == c.want.String() {
		r.Verified = c.from
		r.Checked = time.Now().UTC()
		r.Sum = got
		return nil
	}
	return errorf(ErrDigest, "%s is %x, not %x (%s)",
		got.Algorithm, got.Digest, c.want.Digest, c.from)
}

// verify compares the part's digest and sets it in r. If it differs, verify renames the part to NAME.ftpfetch.bad, to
// keep it as evidence: no run resumes from that file.
func (t *transfer) verify(ctx context.Context, size int64, r *Result) error {
	t.check.sync(t.part)
	if err := t.check.reach(ctx, t.part.File(), size); err != nil {
		return err
	}
	err := t.check.compare(r)
	if err == nil {
		return nil
	}
	if t.check.computed {
		if err := t.secondOpinion(ctx, size); err != nil {
			return err
		}
	}
	before := false
	bad, failed := t.part.KeepBad(func(f *os.File) { before = t.check.covers(ctx, f, size) })
	kept := "kept as " + bad
	switch {
	case failed != nil:
		kept = failed.Error()
	case before:
		kept = "the same bytes came before: the digest or the server's file is wrong; " + kept
	}
	return errorf(ErrDigest, "%v; %s", err, kept)
}

// expected returns the digest that the file must have: Options.Sum, or with Options.Verify the digest that the server
// offers. It looks once, before the file is retrieved, so that the digest can be computed while bytes arrive. It
// returns nil if the options ask for no digest.
func (f *fetch) expected(ctx context.Context) (*check, error) {
	if f.sought {
		return f.check, nil
	}
	c, err := f.seek(ctx)
	if err == nil {
		f.sought = true
		f.check = c
	}
	return c, err
}

// seek looks for the digest to compare: in a list beside the file, then by asking the server to compute it, then in
// lists of directories above.
func (f *fetch) seek(ctx context.Context) (*check, error) {
	switch {
	case f.Sum.Algorithm != "":
		return newCheck(f.Sum, string(f.Sum.Algorithm)+" given"), nil
	case !f.Verify:
		return nil, nil
	case f.text():
		return nil, errorf(ErrUnverified,
			"ASCII type (;type=a) changes bytes, so the file cannot be verified")
	}
	if err := f.begin(); err != nil {
		return nil, err
	}
	c, err := f.inLists(ctx, 0)
	if c == nil && err == nil {
		c, err = f.computed(ctx)
	}
	for up := 1; up <= mostUp && c == nil && err == nil; up++ {
		c, err = f.inLists(ctx, up)
	}
	aList := f.inTree && sums.Is(f.url.Name) // a list in a tree needs no digest of its own
	if c == nil && err == nil && !aList {
		err = errorf(ErrUnverified, "%s", f.missing())
		if _, serr := f.src.Stat(ctx, f.url); errors.Is(serr, ftpexec.ErrNotFound) {
			err = serr // there is no such file at all
		}
	}
	return c, err
}

// missing says why there is no digest: what is wrong with the lists that are there, and what the server says.
func (f *fetch) missing() string {
	lists := "there is no list of digests beside the file or above"
	if len(f.lacking) > 0 {
		lists = strings.Join(f.lacking, "; ")
	}
	if f.refused != "" {
		return lists + ", and the server refuses to compute one: " + f.refused
	}
	return lists + ", and the server computes none"
}

// mostUp is how many directories above the file's directory seek searches for a list.
const mostUp = 2

// inLists looks for the digest in the lists of one directory, strongest algorithm first. up is the number of levels from
// the file's directory up to that directory.
func (f *fetch) inLists(ctx context.Context, up int) (*check, error) {
	dir, name, ok := above(f.url, up)
	if !ok {
		return nil, nil
	}
	there, err := f.names(ctx, dir)
	if err != nil {
		return nil, err
	}
	listing := up > 0 || there.Has(name) // vsftpd sends an empty listing of a directory that it may not read
	// A path in a list may also start with directories above the list, unless the list's directory has an entry of that
	// name.
	names := []string{name}
	if listing {
		names = fromAbove(name, dir.Dirs, there)
	}
	for _, list := range sums.Beside(name) {
		if (listing || list.Rare) && !there.Has(list.File) {
			continue
		}
		dir.Name = list.File
		sum, err := f.lookUp(ctx, dir, list, names)
		switch {
		case err == nil:
			return newCheck(sum, described(sum, up, list)), nil
		case ctx.Err() != nil:
			return nil, err
		case errors.Is(err, sums.ErrNotListed), errors.Is(err, sums.ErrForeign):
			f.lacks(list, up, up == 0 && there.Has(list.File), err)
		case errors.Is(err, sums.ErrTooLarge), errors.Is(err, sums.ErrAmbiguous):
			return nil, errorf(ErrUnverified, "%s: %v", list.File, err)
		default:
			return nil, fmt.Errorf("%s: %w", list.File, err)
		}
	}
	return nil, nil
}

// fromAbove returns the paths of a file that may stand in a list of a directory: name, and those that begin with the
// directories above, up to the first that is a name there.
func fromAbove(name string, dirs []string, there *sums.Digests) []string {
	names := []string{name}
	for i := len(dirs) - 1; i >= 0 && !there.Has(dirs[i]); i-- {
		names = append(names, strings.TrimPrefix(dirs[i], "/")+"/"+names[len(names)-1])
	}
	return names
}

// lacks records why a list that is there has no digest of the file. A list above the file need not name it.
func (f *fetch) lacks(list sums.List, up int, beside bool, why error) {
	if beside || errors.Is(why, sums.ErrUnread) || errors.Is(why, sums.ErrForeign) {
		f.lacking = append(f.lacking, strings.Repeat("../", up)+list.File+": "+why.Error())
	}
}

// above returns the directory that is up levels above the directory of a file, and the path of the file relative to it.
// It returns false if there is none.
func above(u *urlparse.URL, up int) (dir urlparse.URL, name string, ok bool) {
	dir = *u
	name = u.Name
	dir.Name = ""
	dir.Type = urlparse.TypeImage
	for range up {
		last := len(dir.Dirs) - 1
		if last < 0 || strings.Contains(dir.Dirs[last], "/") {
			return dir, name, false
		}
		name = dir.Dirs[last] + "/" + name
		dir.Dirs = dir.Dirs[:last]
	}
	return dir, name, true
}

// described returns where a digest is from, for Result.Verified.
func described(sum digest.Sum, up int, list sums.List) string {
	from := string(sum.Algorithm) + " in " + strings.Repeat("../", up) + list.File
	if sum.Algorithm == algorithm.BSDSum {
		from += ", which is weak: 16 bits"
	}
	return from
}

// names returns the names in a directory. It returns no names if the server does not list the directory; then inLists
// requests each list by its name. A refused login is an error: with each name it would be refused again, and servers
// lock out clients that try too often.
func (f *fetch) names(ctx context.Context, dir urlparse.URL) (*sums.Digests, error) {
	dir.Type = ""
	names, err := f.lists.Get(dir.String(), func() (*sums.Digests, error) {
		var names *sums.Digests
		once := f.retry.Policy
		once.Retries = cmp.Or(min(once.Retries, 1), -1) // some servers always reply 450 if they do not list a directory
		err := retry.New(once).Do(ctx, func() error {
			names = new(sums.Digests)
			for e, err := range f.src.List(ctx, &dir) {
				if err != nil {
					return err
				}
				names.Add(path.Base(e.Name), digest.Sum{})
			}
			return nil
		})
		if errors.Is(err, ftpexec.ErrLogin) {
			return nil, err
		}
		if err != nil {
			names = new(sums.Digests)
		}
		return names, ctx.Err()
	})
	if errors.Is(err, ftpexec.ErrLogin) {
		return nil, err
	}
	return names, nil
}

// lookUp returns the digest that a list has for one of the names of a file. A list that was cut short is an error. A
// list that the server refuses permanently counts as empty.
func (f *fetch) lookUp(ctx context.Context, u urlparse.URL, list sums.List, names []string) (digest.Sum, error) {
	digests, err := f.lists.Get(u.String(), func() (d *sums.Digests, err error) {
		err = f.retry.Do(ctx, func() error {
			resp, err := f.src.Do(ctx, &ftpexec.Request{URL: &u})
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			d, err = list.Read(resp.Body, names[0])
			return err
		})
		e, ok := errors.AsType[*ftpexec.Error](err)
		refused := ok && e.Code/100 == 5 && !ftpexec.Retryable(err) && !errors.Is(err, ftpexec.ErrLogin)
		absent := ok && e.Code == 0 && errors.Is(err, ftpexec.ErrNotFound)
		if (refused || absent) && ctx.Err() == nil { // the error at the end of ctx keeps the last reply
			return new(sums.Digests), nil
		}
		return d, err
	})
	if err != nil {
		return digest.Sum{}, err
	}
	return digests.Find(names...)
}

// computable are the algorithms for which there are FTP commands, strongest first.
var computable = []string{"sha512", "sha256", "sha1", "md5", "crc32"}

// computed asks the server to compute a digest, with the strongest algorithm that it supports.
func (f *fetch) computed(ctx context.Context) (*check, error) {
	for _, a := range computable {
		d, err := f.ofServer(ctx, a)
		switch e, _ := errors.AsType[*ftpexec.Error](err); {
		case err == nil:
			c := newCheck(d, a+" from the server")
			c.computed = true
			return c, nil
		case !errors.Is(err, errors.ErrUnsupported):
			return nil, err
		case e != nil && e.Reply != "":
			f.refused = printable.Line(e.Reply)
		}
	}
	return nil, nil
}

// noticeAfter is how long a digest may take before the user is told what the run waits for.
const noticeAfter = 3 * time.Second

// ofServer returns the digest that the server computes.
func (f *fetch) ofServer(ctx context.Context, a string) (digest.Sum, error) {
	late := time.AfterFunc(noticeAfter, func() { f.note("waiting for the server to compute the " + a + " digest") })
	defer late.Stop()
	var d []byte
	err := f.retry.Do(ctx, func() (err error) {
		d, err = f.src.Hash(ctx, f.url, a)
		return err
	})
	return digest.Sum{Algorithm: digest.Algorithm(a), Digest: d}, err
}

// secondOpinion asks the server for the other digests that it computes, because the one that the file of size bytes
// should have may be that of another file. It returns why the file cannot be called damaged, or nil.
func (t *transfer) secondOpinion(ctx context.Context, size int64) error {
	for _, a := range computable {
		other, err := t.ofServer(ctx, a)
		if err != nil {
			continue
		}
		c := newCheck(other, "")
		if err := c.reach(ctx, t.part.File(), size); err != nil {
			return err
		}
		if bytes.Equal(c.h.Sum(nil), other.Digest) {
			return errorf(ErrUnverified,
				"the server contradicts itself: the file has the %s that it computes now, but not the %s before",
				a, t.check.want.Algorithm)
		}
	}
	return nil
}
