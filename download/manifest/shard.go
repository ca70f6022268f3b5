package manifest

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Shard is one of Count equal shares of the items. Index counts from 1. The zero
// value is all items.
type Shard struct{ Index, Count int }

// String returns "I/N", or "" for the zero value.
func (s Shard) String() string {
	if s == (Shard{}) {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Count)
}

// has reports whether the item belongs to the share. Every item belongs to just
// one of the Count shares, and to the same on every machine: the first URL
// decides, whatever its password and however it is spelled.
func (s Shard) has(item Item) bool {
	if s.Count <= 1 {
		return true
	}
	u := item.URLs[0].WithoutPassword()
	port := u.PortOrDefault()
	if u.Port = 0; u.PortOrDefault() != port {
		u.Port = port
	}
	sum := sha256.Sum256([]byte(u.String()))
	return binary.BigEndian.Uint64(sum[:])%uint64(s.Count) == uint64(s.Index-1)
}

// ParseShard reads a share as a person writes it: I/N, from 1/N to N/N. The error
// is one line that says what to write instead.
func ParseShard(text string) (Shard, error) {
	index, count, _ := strings.Cut(strings.TrimSpace(text), "/")
	i, err := strconv.ParseUint(index, 10, 31)
	n, bad := strconv.ParseUint(count, 10, 31)
	switch err = errors.Join(err, bad); {
	case err == nil && i == 0 && n > 0:
		return Shard{}, fmt.Errorf("%q: shares count from 1: write 1/%d for the first", text, n)
	case err == nil && n > 0 && i > n:
		return Shard{}, fmt.Errorf("%q: the share is not a number from 1 to %d: write I/N, such as 3/10 for the third of ten shares", text, n)
	case err != nil || n == 0:
		return Shard{}, fmt.Errorf("%q is not a share: write I/N, such as 3/10 for the third of ten shares", text)
	}
	return Shard{int(i), int(n)}, nil
}
