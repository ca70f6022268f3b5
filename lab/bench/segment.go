package main

import "encoding/binary"

// segment is what the link records of a TCP segment.
type segment struct {
	from, to int  // ports
	payload  int  // bytes after the headers
	opens    bool // SYN without ACK
}

const protocolTCP = 6

// parseSegment reads an IPv4 packet (RFC 791) with a TCP segment (RFC 9293).
func parseSegment(p []byte) (segment, bool) {
	if len(p) < 20 || p[0]>>4 != 4 || p[9] != protocolTCP {
		return segment{}, false
	}
	total := int(binary.BigEndian.Uint16(p[2:]))
	header := int(p[0]&15) * 4
	if header < 20 || total > len(p) || total < header+20 {
		return segment{}, false
	}
	t := p[header:total]
	offset := int(t[12]>>4) * 4
	if offset < 20 || offset > len(t) {
		return segment{}, false
	}
	return segment{
		from:    int(binary.BigEndian.Uint16(t)),
		to:      int(binary.BigEndian.Uint16(t[2:])),
		payload: len(t) - offset,
		opens:   t[13]&(synFlag|ackFlag) == synFlag,
	}, true
}

const (
	synFlag = 2
	ackFlag = 16
)
