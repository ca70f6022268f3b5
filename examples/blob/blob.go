// Package ftpblob presents a directory of an FTP server as a bucket of gocloud.dev/blob, which programs read like a
// bucket of S3, Google Cloud Storage or Azure:
//
//	b, err := blob.OpenBucket(ctx, "ftp://ftp.example.org/pub/genomes/")
//
// A key is a path below the directory. Programs cannot reach anything above the directory, and cannot write. Lists omit
// links to directories, but files in those can still be read.
package ftpblob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/url"
	"path"
	"slices"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/ftpfs"
	"example.com/ftpfetch/urlparse"
)

func init() {
	for _, scheme := range []string{"ftp", "ftpes", "ftps"} {
		blob.DefaultURLMux().RegisterBucket(scheme, opener{})
	}
}

type opener struct{}

func (opener) OpenBucketURL(ctx context.Context, u *url.URL) (*blob.Bucket, error) {
	root, err := urlparse.FromURL(u)
	if err != nil {
		return nil, err
	}
	return openBucket(ctx, new(ftpexec.Client), root)
}

// OpenBucket opens the directory at rawURL. Closing the bucket closes the idle connections of c.
func OpenBucket(ctx context.Context, c *ftpexec.Client, rawURL string) (*blob.Bucket, error) {
	root, err := urlparse.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	return openBucket(ctx, c, root)
}

func openBucket(ctx context.Context, c *ftpexec.Client, root *urlparse.URL) (*blob.Bucket, error) {
	fsys, err := ftpfs.New(ctx, c, root)
	if err != nil {
		return nil, err
	}
	return blob.NewBucket(&bucket{fsys, c}), nil
}

// bucket is a driver.Bucket.
type bucket struct {
	fs     *ftpfs.FS
	client *ftpexec.Client
}

func (b *bucket) Close() error {
	b.client.CloseIdleConnections()
	return nil
}

func (b *bucket) As(any) bool { return false }

// ErrorAs finds, for example, an *ftpexec.Error.
func (b *bucket) ErrorAs(err error, i any) bool { return errors.As(err, i) }

// codes has the code of each error. fs.ErrInvalid is the error for a key such as "a//b" or "../a", which cannot exist.
var codes = []struct {
	is   error
	code gcerrors.ErrorCode
}{
	{fs.ErrNotExist, gcerrors.NotFound}, {fs.ErrInvalid, gcerrors.NotFound}, {ftpexec.ErrIsDirectory, gcerrors.NotFound},
	{fs.ErrPermission, gcerrors.PermissionDenied}, {ftpexec.ErrLogin, gcerrors.PermissionDenied},
	{errors.ErrUnsupported, gcerrors.Unimplemented}, {ftpexec.ErrTooMany, gcerrors.ResourceExhausted},
	{context.Canceled, gcerrors.Canceled}, {context.DeadlineExceeded, gcerrors.DeadlineExceeded},
}

func (b *bucket) ErrorCode(err error) gcerrors.ErrorCode {
	for _, row := range codes {
		if errors.Is(err, row.is) {
			return row.code
		}
	}
	return gcerrors.Unknown
}

func typeOf(key string) string {
	return cmp.Or(mime.TypeByExtension(path.Ext(key)), "application/octet-stream")
}

func (b *bucket) Attributes(ctx context.Context, key string) (*driver.Attributes, error) {
	info, err := b.fs.WithContext(ctx).Stat(key)
	if err != nil || info.IsDir() {
		return nil, cmp.Or(err, ftpexec.ErrIsDirectory)
	}
	return &driver.Attributes{ContentType: typeOf(key), ModTime: info.ModTime(), Size: info.Size()}, nil
}

// reader reads a range of a file.
type reader struct {
	io.Reader
	io.Closer
	driver.ReaderAttributes
}

func (r *reader) Attributes() *driver.ReaderAttributes { return &r.ReaderAttributes }
func (r *reader) As(any) bool                          { return false }

func (b *bucket) NewRangeReader(ctx context.Context, key string, offset, length int64, o *driver.ReaderOptions) (driver.Reader, error) {
	if o.BeforeRead != nil {
		if err := o.BeforeRead(func(any) bool { return false }); err != nil {
			return nil, err
		}
	}
	f, err := b.fs.WithContext(ctx).Open(key)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil || info.IsDir() {
		f.Close()
		return nil, cmp.Or(err, ftpexec.ErrIsDirectory)
	}
	r := &reader{f, f, driver.ReaderAttributes{ContentType: typeOf(key), ModTime: info.ModTime(), Size: info.Size()}}
	if length >= 0 {
		r.Reader = io.LimitReader(f, length)
	}
	_, err = f.(io.Seeker).Seek(offset, io.SeekStart)
	return r, err
}

func (b *bucket) ListPaged(ctx context.Context, o *driver.ListOptions) (*driver.ListPage, error) {
	if o.Delimiter != "" && o.Delimiter != "/" {
		return nil, fmt.Errorf("the delimiter %q: write \"/\" or none: %w", o.Delimiter, errors.ErrUnsupported)
	}
	if o.BeforeList != nil {
		if err := o.BeforeList(func(any) bool { return false }); err != nil {
			return nil, err
		}
	}
	l := &lister{o, b.fs.WithContext(ctx), cmp.Or(o.PageSize, 1000), string(o.PageToken), driver.ListPage{}}
	err := l.list(o.Prefix[:strings.LastIndex(o.Prefix, "/")+1])
	if b.ErrorCode(err) == gcerrors.NotFound && len(l.page.Objects) == 0 {
		return &l.page, nil // no key has this prefix
	}
	return &l.page, err
}

// lister makes a page.
type lister struct {
	*driver.ListOptions
	fs    *ftpfs.FS
	most  int
	after string // the last key of the previous page
	page  driver.ListPage
}

// list adds the objects of a directory, whose name ends in "/" or is "". The keys are in the order of their bytes, in
// which "a.b" is before "a/b". list fails if an entry has no usable name, because an object would be missing.
func (l *lister) list(dir string) error {
	entries, err := l.fs.ReadDir(cmp.Or(strings.TrimSuffix(dir, "/"), "."))
	if err != nil {
		return err
	}
	key := func(e fs.DirEntry) string {
		if e.IsDir() {
			return dir + e.Name() + "/"
		}
		return dir + e.Name()
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(key(a), key(b)) })
	for _, e := range entries {
		if err := l.add(key(e), e); err != nil || l.page.NextPageToken != nil {
			return err
		}
	}
	return nil
}

func (l *lister) add(key string, e fs.DirEntry) error {
	descends := e.IsDir() && l.Delimiter == ""
	switch before := key <= l.after && !(descends && strings.HasPrefix(l.after, key)); {
	case before || !strings.HasPrefix(key, l.Prefix):
		return nil
	case descends:
		return l.list(key)
	}
	object := &driver.ListObject{Key: key, IsDir: e.IsDir()}
	if !object.IsDir {
		info, err := e.Info() // asks the server only if the listing lacks a fact
		if e.Type() == fs.ModeSymlink {
			info, err = l.fs.Stat(key)
		}
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			return nil // deleted meanwhile, or a link to nothing or to a directory
		}
		if err != nil {
			return err
		}
		object.Size, object.ModTime = info.Size(), info.ModTime()
	}
	if len(l.page.Objects) == l.most {
		l.page.NextPageToken = []byte(l.page.Objects[l.most-1].Key)
		return nil
	}
	l.page.Objects = append(l.page.Objects, object)
	return nil
}

// errReadOnly is the error of operations that would change a bucket.
var errReadOnly = fmt.Errorf("a bucket on an FTP server is read only: %w", errors.ErrUnsupported)

func (b *bucket) NewTypedWriter(context.Context, string, string, *driver.WriterOptions) (driver.Writer, error) {
	return nil, errReadOnly
}

func (b *bucket) Copy(context.Context, string, string, *driver.CopyOptions) error { return errReadOnly }

func (b *bucket) Delete(context.Context, string, *driver.DeleteOptions) error { return errReadOnly }

func (b *bucket) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", errReadOnly
}
