//go:build !linux

package disk

import (
	"errors"
	"os"
)

// StartFlush does nothing: only Linux can start to write a file without waiting.
func StartFlush(*os.File) {}

// flushAll returns an error: only Linux can flush a whole file system.
func flushAll([]*os.File) error { return errors.ErrUnsupported }

func flushed(f *os.File) error { return f.Sync() }

// WatchOpens returns nil: only Linux tells which files other processes open.
func WatchOpens(*os.File) *Watch { return nil }

func (w *Watch) opened() bool { return true }

// Dense reports false: what a file lacks is not known.
func Dense(*os.File, int64) bool { return false }
