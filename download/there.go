package download

import (
	"context"
	"io"
	"os"

	"example.com/ftpfetch/download/digest"
)

// SumOf returns the digest of the regular file at path below root. Reading ends
// with ctx.
func SumOf(ctx context.Context, root *os.Root, path string, a digest.Algorithm) (digest.Sum, error) {
	d := newDisk(root)
	shown, err := d.locate(path)
	if err != nil {
		return digest.Sum{}, err
	}
	f, err := d.openRegular(shown, os.O_RDONLY)
	if err != nil {
		return digest.Sum{}, failure(shown, "cannot be opened", err)
	}
	defer f.Close()
	h := digest.New(a)
	if _, err := io.Copy(h, diskReader{ctx, f}); err != nil {
		return digest.Sum{}, failure(shown, "cannot be read", err)
	}
	return digest.Sum{Algorithm: a, Digest: h.Sum(nil)}, nil
}

// Tidy removes what a run with HashNames that was killed has left beside the file
// at path below root: a journal, and another name of the file. It does so only if they show that
// they belong to that file, and if nothing hinders it. It is for a caller that knows
// that the file is complete.
func Tidy(ctx context.Context, root *os.Root, path string) {
	d := newDisk(root)
	d.hashed = true
	if t, err := d.inspect(path); err == nil {
		j := &job{o: &Options{Existing: Overwrite}} // so that the server need not be asked
		_, _ = j.tidy(ctx, &t)
	}
}
