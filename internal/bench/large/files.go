//go:build linux

package large

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
)

// block is how much is written and compared at a time, in bytes.
const block = 1 << 20

// writeServed writes a file with contents that look random but are the same in
// every run. A sparse one has a block of them in every gibibyte, and ends with
// one; the rest are zeros that take no room.
func writeServed(path string, size int64, sparse bool) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	step := int64(block)
	if sparse {
		step = min(1<<30, max(size/8, block))
	}
	random := rand.NewChaCha8([32]byte{3})
	for at := int64(0); at < size; at += step {
		if err := fillAt(f, at, min(block, size-at), random); err != nil {
			return err
		}
	}
	if sparse {
		if err := fillAt(f, max(0, size-block), min(block, size), random); err != nil {
			return err
		}
	}
	return f.Chmod(0o644)
}

func fillAt(f *os.File, at, n int64, random *rand.ChaCha8) error {
	b := make([]byte, n)
	_, _ = random.Read(b) // never fails
	_, err := f.WriteAt(b, at)
	return err
}

// copyFirst copies the first n bytes of from.
func copyFirst(to, from string, n int64) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.CopyN(dst, src, n)
	return errors.Join(err, dst.Close())
}

// same returns an error unless the files have the same bytes.
func same(local, served string) error {
	got, err := os.Open(local)
	if err != nil {
		return err
	}
	defer got.Close()
	want, err := os.Open(served)
	if err != nil {
		return err
	}
	defer want.Close()
	a, b := make([]byte, block), make([]byte, block)
	for at := int64(0); ; {
		n, errGot := io.ReadFull(got, a)
		m, errWant := io.ReadFull(want, b)
		if n != m || !bytes.Equal(a[:n], b[:m]) {
			return fmt.Errorf("%s differs from the served file between the bytes %d and %d", local, at, at+block)
		}
		at += int64(n)
		if errGot != nil || errWant != nil {
			return other(errGot, errWant)
		}
	}
}

// other returns the errors that do not mean the end of a file.
func other(errs ...error) error {
	for _, err := range errs {
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
	}
	return nil
}
