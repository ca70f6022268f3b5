package download

import "slices"

// span is the range of bytes [start, end).
type span struct{ start, end int64 }

func (s span) len() int64 { return s.end - s.start }

// spans are in order. None is empty, and no two touch or overlap.
type spans []span

// octets returns how many bytes the spans cover.
func (s spans) octets() (n int64) {
	for _, x := range s {
		n += x.len()
	}
	return n
}

// end returns the end of the last span.
func (s spans) end() int64 {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1].end
}

// head returns how many bytes from the start of the file s covers without a gap.
func (s spans) head() int64 {
	if len(s) == 0 || s[0].start > 0 {
		return 0
	}
	return s[0].end
}

// add returns s with x, as a new value.
func (s spans) add(x span) spans {
	if x.len() <= 0 {
		return slices.Clone(s)
	}
	var out spans
	for _, y := range s {
		switch {
		case y.end < x.start:
			out = append(out, y)
		case x.end < y.start:
			out = append(out, x)
			x = y
		default:
			x = span{min(x.start, y.start), max(x.end, y.end)}
		}
	}
	return append(out, x)
}

// upTo returns the part of s below n.
func (s spans) upTo(n int64) spans {
	var out spans
	for _, x := range s {
		if x.start < n {
			out = append(out, span{x.start, min(x.end, n)})
		}
	}
	return out
}

// missing returns the gaps that s leaves in a file of size bytes.
func (s spans) missing(size int64) spans {
	var out spans
	at := int64(0)
	for _, x := range s {
		if x.start > at {
			out = append(out, span{at, x.start})
		}
		at = x.end
	}
	if at < size {
		out = append(out, span{at, size})
	}
	return out
}

// split cuts the longest of s in two until there are n spans, or until a cut
// would make one shorter than least.
func (s spans) split(n int, least int64) spans {
	out := slices.Clone(s)
	for len(out) > 0 && len(out) < n {
		long := 0
		for i := range out {
			if out[i].len() > out[long].len() {
				long = i
			}
		}
		x := out[long]
		if x.len() < 2*least {
			break
		}
		pieces := share(x, n-len(out)+1, least, len(out) == 1)
		out = slices.Replace(out, long, long+1, pieces...)
	}
	return out
}

// share cuts x: into n equal pieces if x is all there is, otherwise into halves.
// No piece is shorter than least.
func share(x span, n int, least int64, all bool) spans {
	count := int64(2)
	if all {
		count = min(int64(n), x.len()/least)
	}
	var out spans
	for i := range count {
		out = append(out, span{x.start + x.len()/count*i, x.start + x.len()/count*(i+1)})
	}
	out[count-1].end = x.end
	return out
}
