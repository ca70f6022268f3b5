package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// into declares a flag whose value read parses into *to.
func into[T any](fs *pflag.FlagSet, to *T, name, short, usage string, read func(string) (T, error)) {
	fs.FuncP(name, short, usage, func(text string) error {
		v, err := read(text)
		if err == nil {
			*to = v
		}
		return err
	})
}

// word declares a flag whose value is one of the words between backquotes in usage. unset is the word for the
// default; it reads as "".
func word(fs *pflag.FlagSet, to *string, unset, name, usage string) {
	_, rest, _ := strings.Cut(usage, "`")
	words, _, _ := strings.Cut(rest, "`")
	into(fs, to, name, "", usage, oneOf(unset, strings.Split(words, "|")...))
}

// oneOf returns what reads one of these words. That for the default, if it is not "", reads as "".
func oneOf(unset string, words ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		switch last := len(words) - 1; {
		case !slices.Contains(words, s):
			return "", fmt.Errorf("write %s or %s", strings.Join(words[:last], ", "), words[last])
		case s == unset:
			return "", nil
		}
		return s, nil
	}
}

// patterns declares a flag that may be repeated, whose value is a pattern of names.
func patterns(fs *pflag.FlagSet, to *[]string, name, usage string) {
	read := func(s string) ([]string, error) {
		if strings.Contains(inBraces().ReplaceAllString(s, ""), ",") {
			return nil, fmt.Errorf(`is one pattern: write --%s for each pattern, or {a,b}, or "\," for a comma in names`, name)
		}
		return append(*to, s), checkPattern(s)
	}
	into(fs, to, name, "", usage, read)
}

// inBraces matches where a comma in a pattern is no sign of a list, which wget's --accept takes.
var inBraces = compiled(`\\.|\{[^{}]*\}|\[[^\]]*\]`)

// readName reads the name of a file or directory.
func readName(s string) (string, error) {
	if s == "" {
		return "", errors.New("write a name")
	}
	return s, nil
}

// whole returns a function that reads a whole number from least to most. If most is 0 there is no upper limit.
func whole(least, most int) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		switch {
		case err == nil && n >= least && (most == 0 || n <= most):
			return n, nil
		case most == 0:
			return 0, fmt.Errorf("write a whole number from %d", least)
		}
		return 0, fmt.Errorf("write a whole number from %d to %d", least, most)
	}
}

// readRetries reads a number of retries as [retry.Count] takes it.
func readRetries(s string) (int, error) {
	n, err := whole(0, 0)(s)
	return cmp.Or(n, -1), err
}

// readAddress reads an IP address; "" means none.
func readAddress(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	if err != nil && s != "" {
		return a, errors.New("write an IP address of this machine")
	}
	return a, nil
}

// readShard reads a share of a list.
func readShard(s string) ([2]int, error) {
	index, count, _ := strings.Cut(s, "/")
	i, err := strconv.Atoi(index)
	n, bad := strconv.Atoi(count)
	if err != nil || bad != nil || i < 1 || i > n {
		return [2]int{}, errors.New("write I/N, from 1/N to N/N: 3/10 is the third of ten shares")
	}
	return [2]int{i, n}, nil
}

// readTime reads a positive duration: 3s, 2m, or plain seconds.
func readTime(s string) (time.Duration, error) {
	t, err := time.ParseDuration(s)
	if seconds, perr := strconv.ParseFloat(s, 64); perr == nil && math.Abs(seconds) < 1e9 {
		t, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil || t <= 0 {
		return 0, errors.New("write a time such as 3s, 2m or 90")
	}
	return t, nil
}

// readSize reads a number of bytes, plain or with a binary unit K, M or G: 4096, 500K, 1.5m.
func readSize(s string) (int64, error) {
	digits, unit := s, 1.0
	if i := len(s) - 1; i >= 0 {
		if power := strings.IndexByte("KMG", s[i]&^0x20); power >= 0 {
			digits, unit = s[:i], math.Pow(1024, float64(power+1))
		}
	}
	n, err := strconv.ParseFloat(digits, 64)
	n = math.Floor(n * unit)
	switch {
	case err != nil || strings.Trim(digits, "0123456789.") != "" || unit == 1 && strings.Contains(digits, "."):
		return 0, errors.New("write bytes such as 500K, 1.5M, 2G or 4096 (K, M and G are binary)")
	case n < 1 || n > 1<<53:
		return 0, errors.New("write at least 1 and at most 8388608G bytes; without the flag there is no limit")
	}
	return int64(n), nil
}
