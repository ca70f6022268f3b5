package ftpexec

import (
	"encoding/hex"
	"strconv"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec/internal/wire"
)

// The texts of replies that hold a value, and texts that do not.
func TestReadingReplies(t *testing.T) {
	size := func(r wire.Reply) any {
		if n, ok := sizeIn(r); ok {
			return n
		}
		return nil
	}
	when := func(r wire.Reply) any {
		if t, ok := timeIn(r); ok {
			return t.Format(time.RFC3339)
		}
		return nil
	}
	port := func(read func(string) int) func(wire.Reply) any {
		return func(r wire.Reply) any {
			if n := read(r.Raw()); n != 0 {
				return n
			}
			return nil
		}
	}
	epsv, pasv := port(extendedPort), port(passivePort)
	pwd := func(r wire.Reply) any { return directoryIn(r) }
	digest := func(r wire.Reply) any { return hex.EncodeToString(digestIn(&r, 2, "abab f")) }
	for _, tt := range []struct {
		read func(wire.Reply) any
		in   string
		want any
	}{
		{size, "213 12", int64(12)}, {size, "213  12 ", int64(12)}, {size, "250 12", int64(12)}, {size, "213-x\n12", int64(12)},
		{size, "213 x", nil}, {size, "213 -1", nil}, {size, "213 +1", nil}, {size, "213 99999999999999999999", nil}, {size, "550 1", nil}, {size, "350 1", nil},
		{when, "213 20260102030405", "2026-01-02T03:04:05Z"}, {when, "213 20260102030405.678", "2026-01-02T03:04:05Z"},
		{when, "213 1", nil}, {when, "213 20261302030405", nil}, {when, "550 20260102030405", nil},
		{pwd, `257 "/a" is it`, "/a"}, {pwd, `257 "/a ""b"""`, `/a "b"`}, {pwd, `257 "x`, ""}, {pwd, "257 x", ""}, {pwd, `500 "/a"`, ""},
		{digest, "251 abab cdcd", "cdcd"}, {digest, "251 f cdcd cdcd", "cdcd"}, {digest, "251 abab", ""}, {digest, "251 1234 5678", ""}, {digest, "550 cdcd", ""},
		{epsv, "229 Entering (|||2121|)", 2121}, {epsv, "229 (|||99999|)", nil}, {epsv, "229 (!!!21!)", 21}, {epsv, "229 (|1|10.0.0.1|21|)", 21},
		{epsv, "229 (", nil}, {epsv, "229 )(", nil}, {epsv, "229 (|||0|)", nil},
		{pasv, "227 Entering Passive Mode (10,0,0,1,1,2).", 258}, {pasv, "227 Entering 127,0,0,1,200,7", 51207}, {pasv, "200 =1,2,3,4,5,6", 1286},
		{pasv, "227 on 3 ports: 1, 2, 3, 4, 5, 6", 1286}, {pasv, "227 )(", nil}, {pasv, "227 x", nil}, {pasv, "227 (1,2,3,4,5)", nil},
		{pasv, "227 (1,2,3,4,256,1)", nil}, {pasv, "227 (1,2,3,4,0,0)", nil},
		{pasv, "227 300,1,2,3,4,5,6", 1286}, {pasv, "227 (1,2,3,4,5,6999)", nil}, {pasv, "227 1,2,3,4,5,6", 1286}, {pasv, "227 (001,002,003,004,005,006)", 1286},
	} {
		if got := tt.read(reply(tt.in)); got != tt.want {
			t.Errorf("%q: got %v, want %v", tt.in, got, tt.want)
		}
	}
}

// reply returns a reply with the lines of text.
func reply(text string) wire.Reply {
	code, _ := strconv.Atoi(text[:3])
	return wire.NewReply(code, text[4:])
}
