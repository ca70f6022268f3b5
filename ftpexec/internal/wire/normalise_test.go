package wire

import "testing"

// The library's exact codes for what RFC 1123 section 4.1.2.11 decides by the first digit.
func TestNormalise(t *testing.T) {
	tests := []struct{ verb, in, want string }{
		{"USER", "331 x", "331 x"}, {"USER", "300 x", "331 x"}, {"USER", "230 x", "230 x"}, {"USER", "202 x", "230 x"}, {"USER", "530 x", "530 x"},
		{"PASS", "230 x", "230 x"}, {"PASS", "202 x", "230 x"}, {"PASS", "200 x", "230 x"}, {"PASS", "530 x", "530 x"},
		{"CWD", "250 x", "250 x"}, {"CWD", "200 x", "250 x"}, {"CWD", "257 x", "250 x"}, {"CWD", "550 x", "550 x"}, {"CWD", "450 x", "450 x"},
		{"TYPE", "200 x", "200 x"}, {"TYPE", "250 x", "200 x"}, {"TYPE", "504 x", "504 x"},
		{"SIZE", "213 12", "213 12"}, {"SIZE", "213  12 ", "213 12"}, {"SIZE", "250 12", "213 12"}, {"SIZE", "213 x", "550 x"},
		{"SIZE", "213 -1", "550 -1"}, {"SIZE", "213 99999999999999999999", "550 99999999999999999999"}, {"SIZE", "550 x", "550 x"},
		{"MDTM", "213 20260102030405", "213 20260102030405"}, {"MDTM", "213 20260102030405.678", "213 20260102030405"}, {"MDTM", "213 1", "550 1"},
		{"PWD", `257 "/a" is it`, `257 "/a"`}, {"PWD", `257 "/a ""b"""`, `257 "/a "b""`}, {"PWD", `257 "x`, "550 no directory in quotes"},
		{"PWD", "257 x", "550 no directory in quotes"}, {"PWD", "500 x", "550 x"},
		{"EPSV", "229 Entering (|||2121|)", "229 (|||2121|)"}, {"EPSV", "229 (|||99999|)", "500 (|||99999|)"}, {"EPSV", "522 x", "500 x"},
		{"EPSV", "229 (!!!21!)", "229 (|||21|)"}, {"EPSV", "229 (|1|10.0.0.1|21|)", "229 (|||21|)"}, {"EPSV", "229 (", "500 ("}, {"EPSV", "229 )(", "500 )("},
		{"PASV", "227 Entering Passive Mode (10,0,0,1,1,2).", "227 (0,0,0,0,1,2)"}, {"PASV", "227 Entering 127,0,0,1,200,7", "227 (0,0,0,0,200,7)"},
		{"PASV", "200 =1,2,3,4,5,6", "227 (0,0,0,0,5,6)"}, {"PASV", "227 on 3 ports: 1, 2, 3, 4, 5, 6", "227 (0,0,0,0,5,6)"}, {"PASV", "502 x", "502 x"},
		{"OPTS", "200 x", "200 x"}, {"OPTS", "202 x", "200 x"}, {"OPTS", "500 x", "501 x"},
		{"SIZE", "350 x", "550 x"}, {"MDTM", "331 x", "550 x"},
		{"REST", "350 x", "350 x"}, {"REST", "300 x", "350 x"}, {"REST", "200 x", "502 x"}, {"REST", "501 x", "502 x"},
		{"RETR", "550 x", "550 x"},
	}
	for _, tt := range tests {
		t.Run(tt.verb+" "+tt.in, func(t *testing.T) {
			r, err := readReply(reader(tt.in + "\r\n"))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := normalise(tt.verb, r); err != nil || got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestNormaliseRefuses(t *testing.T) {
	tests := []struct{ verb, in string }{
		{"PASS", "331 x"}, {"CWD", "331 x"}, {"TYPE", "350 x"},
		{"PASV", "227 )("}, {"PASV", "227 x"}, {"PASV", "227 (1,2,3,4,5)"}, {"PASV", "227 (1,2,3,4,256,1)"}, {"PASV", "227 (1,2,3,4,0,0)"},
	}
	for _, tt := range tests {
		t.Run(tt.verb+" "+tt.in, func(t *testing.T) {
			r, err := readReply(reader(tt.in + "\r\n"))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := normalise(tt.verb, r); err == nil {
				t.Errorf("got %q, want an error", got)
			}
		})
	}
}
