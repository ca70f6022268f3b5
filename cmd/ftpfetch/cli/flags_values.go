package cli

import (
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

// setTo is a flag without a value that sets a field which it shares with others.
type setTo[T comparable] struct {
	field *T
	value T
	on    bool
}

// setter declares a flag that sets field to value.
func setter[T comparable](fs group, name, short string, field *T, value T, usage string) {
	fs.VarPF(&setTo[T]{field: field, value: value}, name, short, usage).NoOptDefVal = "true"
}

// Set reads true, which a flag without a value means, or false.
func (f *setTo[T]) Set(s string) (err error) {
	if f.on, err = strconv.ParseBool(s); f.on {
		*f.field = f.value
	}
	return err
}

// String returns what Set takes.
func (f *setTo[T]) String() string { return strconv.FormatBool(f.on) }

// Type has pflag print the flag without a value.
func (f *setTo[T]) Type() string { return "bool" }

// word is a flag's value that is one of a few words.
type word[T ~string] struct {
	to    *T
	words []string
	none  string // the word for ""
}

// oneOf declares a flag whose words stand in usage, in backquotes; none is the
// one for the flag not given, and reads as "".
func oneOf[T ~string](fs group, to *T, name, none, usage string) {
	value, _ := pflag.UnquoteUsage(&pflag.Flag{Usage: usage})
	fs.Var(&word[T]{to, strings.Split(value, "|"), none}, name, usage)
}

// Set reads a word.
func (w *word[T]) Set(s string) error {
	last := len(w.words) - 1
	switch {
	case s == "" || !slices.Contains(w.words, s):
		return fmt.Errorf("write %s or %s", strings.Join(w.words[:last], ", "), w.words[last])
	case s == w.none:
		s = ""
	}
	*w.to = T(s)
	return nil
}

// String returns the word; "" where the flag has not been given.
func (w *word[T]) String() string { return string(*w.to) }

// Type is the kind of value that pflag names in its errors.
func (w *word[T]) Type() string { return "word" }

// whole is a flag's whole number, from least to most; most 0 is any.
type whole struct {
	to          *int
	least, most int
}

// Set reads the flag's value.
func (n *whole) Set(s string) error {
	v, err := strconv.Atoi(s)
	switch {
	case err == nil && v >= n.least && (n.most == 0 || v <= n.most):
		*n.to = v
		return nil
	case n.most == 0:
		return fmt.Errorf("write a whole number from %d", n.least)
	}
	return fmt.Errorf("write a whole number from %d to %d", n.least, n.most)
}

// String returns what Set takes.
func (n *whole) String() string { return strconv.Itoa(*n.to) }

// Type is the kind of value that pflag names in its errors.
func (n *whole) Type() string { return "int" }

// address is a flag's IP address; "" is none.
type address netip.Addr

// Set reads the flag's value.
func (a *address) Set(s string) error {
	if s == "" {
		*a = address{}
		return nil
	}
	addr, err := netip.ParseAddr(s)
	if err != nil {
		return errors.New("write an IP address of this machine")
	}
	*a = address(addr)
	return nil
}

// String returns what Set takes.
func (a *address) String() string {
	if addr := netip.Addr(*a); addr.IsValid() {
		return addr.String()
	}
	return ""
}

// Type is the kind of value that pflag names in its errors.
func (a *address) Type() string { return "address" }

// duration is a flag's time: 3s, 2m, or plain seconds.
type duration time.Duration

// Set reads the flag's value.
func (d *duration) Set(s string) error {
	t, err := time.ParseDuration(s)
	if seconds, perr := strconv.ParseFloat(s, 64); perr == nil && math.Abs(seconds) < 1e9 {
		t, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil || t <= 0 {
		return errors.New("write a time such as 3s, 2m or 90")
	}
	*d = duration(t)
	return nil
}

// String returns what Set takes; "" for none.
func (d *duration) String() string {
	t := time.Duration(*d)
	switch {
	case t == 0:
		return ""
	case t%time.Second == 0:
		return strconv.FormatInt(int64(t/time.Second), 10) + "s"
	}
	return t.String()
}

// Type is the kind of value that pflag names in its errors.
func (d *duration) Type() string { return "time" }

// size is a flag's number of octets: plain, or with K, M or G, which are
// binary. 0 is none given.
type size int64

// Set reads 500K, 1.5m, 4096.
func (z *size) Set(s string) error {
	digits, unit := s, 1.0
	if i := len(s) - 1; i >= 0 {
		if power := strings.IndexByte("KMG", s[i]&^0x20); power >= 0 {
			digits, unit = s[:i], math.Pow(1024, float64(power+1))
		}
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err == nil && unit == 1 && strings.Contains(digits, ".") {
		return errors.New("write whole octets such as 4096, or a unit: 1.5K, 1.5M or 1.5G")
	}
	n = math.Floor(n * unit)
	if err != nil || strings.Trim(digits, "0123456789.") != "" {
		return errors.New("write octets such as 500K, 1.5M, 2G or 4096 (K, M and G are binary)")
	}
	if n < 1 || n > 1<<53 {
		return errors.New("write at least 1 and at most 8388608G octets; without the flag there is no limit")
	}
	*z = size(n)
	return nil
}

// String returns what Set takes, in the largest unit that is exact.
func (z *size) String() string {
	n, unit := int64(*z), ""
	for _, u := range []string{"K", "M", "G"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, u
	}
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10) + unit
}

// Type is the kind of value that pflag names in its errors.
func (z *size) Type() string { return "size" }
