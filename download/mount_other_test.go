//go:build unix && !linux

package download

import (
	"errors"
	"testing"
)

func mountSmall(string, string) error { return errors.ErrUnsupported }

func unmount(*testing.T, string) {}
