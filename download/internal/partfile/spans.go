package partfile

import "slices"

// Span is the range of bytes [start, end).
type Span struct{ Start, End int64 }

func (s Span) Len() int64 { return s.End - s.Start }

// Spans are in order. None is empty, and no two touch or overlap.
type Spans []Span

// Octets returns how many bytes the Spans cover.
func (s Spans) Octets() (n int64) {
	for _, x := range s {
		n += x.Len()
	}
	return n
}

// End returns the end of the last Span.
func (s Spans) End() int64 {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1].End
}

// Head returns how many bytes from the start of the file s covers without a gap.
func (s Spans) Head() int64 {
	if len(s) == 0 || s[0].Start > 0 {
		return 0
	}
	return s[0].End
}

// Add returns s with x, as a new value.
func (s Spans) Add(x Span) Spans {
	if x.Len() <= 0 {
		return slices.Clone(s)
	}
	var out Spans
	for _, y := range s {
		switch {
		case y.End < x.Start:
			out = append(out, y)
		case x.End < y.Start:
			out = append(out, x)
			x = y
		default:
			x = Span{min(x.Start, y.Start), max(x.End, y.End)}
		}
	}
	return append(out, x)
}

// UpTo returns the part of s below n.
func (s Spans) UpTo(n int64) Spans {
	var out Spans
	for _, x := range s {
		if x.Start < n {
			out = append(out, Span{x.Start, min(x.End, n)})
		}
	}
	return out
}

// Missing returns the gaps that s leaves in a file of size bytes.
func (s Spans) Missing(size int64) Spans {
	var out Spans
	at := int64(0)
	for _, x := range s {
		if x.Start > at {
			out = append(out, Span{at, x.Start})
		}
		at = x.End
	}
	if at < size {
		out = append(out, Span{at, size})
	}
	return out
}
