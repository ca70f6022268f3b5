package ftpblob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	modified = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	contents = strings.Repeat("0123456789abcdef", 1<<15)
)

// all are the keys of the bucket, in order.
var all = []string{"a.b", "a/1", "a/2/deep.txt", "a0", "big", "odd name?#%", "z/last"}

func start(t *testing.T, fault func(*testserver.Conn) testserver.Action) (*testserver.Server, *blob.Bucket) {
	tree := map[string]string{"/secret": "SECRET", "/pub/big": contents, "/pub/empty/": ""}
	for _, key := range all {
		if key != "big" {
			tree["/pub/"+key] = "of " + key
		}
	}
	s := testserver.New(t, &testserver.Options{Tree: tree, ModTime: modified, Fault: fault})
	b, err := blob.OpenBucket(t.Context(), s.URL("/pub/"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return s, b
}

// list returns the keys of a list, which it reads page by page.
func list(t *testing.T, b *blob.Bucket, size int, o *blob.ListOptions) (keys []string) {
	t.Helper()
	token := blob.FirstPageToken
	for len(token) > 0 {
		page, next, err := b.ListPage(t.Context(), token, size, o)
		if err != nil || len(page) > size {
			t.Fatalf("%d objects, %v", len(page), err)
		}
		for _, o := range page {
			keys = append(keys, o.Key)
			if !o.IsDir && (!o.ModTime.Equal(modified) || o.Key != "big" && o.Size != int64(len("of "+o.Key))) {
				t.Errorf("%s has %d bytes and the time %v", o.Key, o.Size, o.ModTime)
			}
		}
		token = next
	}
	return keys
}

// TestList checks that a list has each key once, in order, whatever the size of a page.
func TestList(t *testing.T) {
	_, b := start(t, nil)
	for size := 1; size <= len(all)+1; size++ {
		for prefix, want := range map[string][]string{
			"": all, "a": {"a.b", "a/1", "a/2/deep.txt", "a0"}, "a/": {"a/1", "a/2/deep.txt"}, "a/2/d": {"a/2/deep.txt"}, "none": nil, "none/x": nil, "empty/": nil,
		} {
			if got := list(t, b, size, &blob.ListOptions{Prefix: prefix}); !slices.Equal(got, want) {
				t.Errorf("pages of %d, prefix %q: got %q, want %q", size, prefix, got, want)
			}
		}
		for prefix, want := range map[string][]string{
			"": {"a.b", "a/", "a0", "big", "empty/", "odd name?#%", "z/"}, "a/": {"a/1", "a/2/"}, "a": {"a.b", "a/", "a0"},
		} {
			if got := list(t, b, size, &blob.ListOptions{Prefix: prefix, Delimiter: "/"}); !slices.Equal(got, want) {
				t.Errorf("pages of %d, directory %q: got %q, want %q", size, prefix, got, want)
			}
		}
	}
	_, _, err := b.ListPage(t.Context(), blob.FirstPageToken, 10, &blob.ListOptions{Delimiter: "-"})
	if gcerrors.Code(err) != gcerrors.Unimplemented {
		t.Errorf("another delimiter: %v", err)
	}
}

// TestRead reads objects whole and in ranges.
func TestRead(t *testing.T) {
	_, b := start(t, nil)
	for _, key := range all {
		want := "of " + key
		if key == "big" {
			want = contents
		}
		got, err := b.ReadAll(t.Context(), key)
		if err != nil || string(got) != want {
			t.Errorf("%s: %d bytes, %v", key, len(got), err)
		}
		a, err := b.Attributes(t.Context(), key)
		if err != nil || a.Size != int64(len(want)) || !a.ModTime.Equal(modified) {
			t.Errorf("%s: %+v, %v", key, a, err)
		}
	}
	for _, tt := range []struct {
		offset, length int64
		want           string
	}{{16, 4, "0123"}, {400000, 16, contents[400000:400016]}, {int64(len(contents) - 3), -1, "def"}, {int64(len(contents) - 3), 10, "def"}, {0, 0, ""}} {
		r, err := b.NewRangeReader(t.Context(), "big", tt.offset, tt.length, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != tt.want || r.Size() != int64(len(contents)) || r.Close() != nil {
			t.Errorf("%d bytes from %d: %q of %d, %v", tt.length, tt.offset, got, r.Size(), err)
		}
	}
	if a, err := b.Attributes(t.Context(), "a/2/deep.txt"); err != nil || !strings.HasPrefix(a.ContentType, "text/plain") {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestErrors checks that errors have the codes of package gcerrors, and wrap the error of the FTP client.
func TestErrors(t *testing.T) {
	s, b := start(t, nil)
	for _, key := range []string{"none", "none/x", "a", "a//1", "../secret", "/secret", "a/../../secret", "big/x"} {
		if _, err := b.ReadAll(t.Context(), key); gcerrors.Code(err) != gcerrors.NotFound {
			t.Errorf("%s: %v", key, err)
		}
		if _, err := b.Attributes(t.Context(), key); gcerrors.Code(err) != gcerrors.NotFound {
			t.Errorf("attributes of %s: %v", key, err)
		}
	}
	if ok, err := b.Exists(t.Context(), "none"); ok || err != nil {
		t.Errorf("none exists: %v, %v", ok, err)
	}
	w, err := b.NewWriter(t.Context(), "new", nil)
	if err == nil {
		err = w.Close()
	}
	for what, err := range map[string]error{"write": err, "delete": b.Delete(t.Context(), "big"), "copy": b.Copy(t.Context(), "new", "big", nil)} {
		if gcerrors.Code(err) != gcerrors.Unimplemented {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, url := range []string{s.URL("/pub/big"), strings.Replace(s.URL("/pub/"), "//", "//user:S3CRET@", 1)} {
		wrong, err := blob.OpenBucket(t.Context(), url)
		if err == nil {
			_, err = wrong.ReadAll(t.Context(), "big")
			wrong.Close()
		}
		if err == nil || strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestBroken checks that a transfer that fails at its end is not a whole object, and that a broken listing is not a
// shorter list.
func TestBroken(t *testing.T) {
	for _, verb := range []string{"RETR", "MLSD"} {
		_, b := start(t, func(c *testserver.Conn) testserver.Action {
			if c.Verb == verb {
				return testserver.Sequence(testserver.EndDataAfter(100, testserver.Closed), testserver.ReplaceReply(testserver.Reply("451 Disk error")))
			}
			return nil
		})
		_, readErr := b.ReadAll(t.Context(), "big")
		_, _, listErr := b.ListPage(t.Context(), blob.FirstPageToken, 100, nil)
		err := map[string]error{"RETR": readErr, "MLSD": listErr}[verb]
		var e *ftpexec.Error
		if !b.ErrorAs(err, &e) || !errors.Is(e, ftpexec.ErrTruncated) || e.Code != 451 {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

func ExampleOpenBucket() {
	s, err := testserver.Start(&testserver.Options{Tree: map[string]string{"/pub/motd": "hello"}})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	b, err := blob.OpenBucket(context.Background(), s.URL("/pub/"))
	if err != nil {
		panic(err)
	}
	defer b.Close()
	text, err := b.ReadAll(context.Background(), "motd")
	fmt.Println(string(text), err)
	// Output: hello <nil>
}
