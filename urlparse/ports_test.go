package urlparse

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// badPorts is a second copy of the list of the WHATWG Fetch standard, without 0,
// which is not a port, and without those of FTP: 20, 21, 989, 990.
var badPorts = []int{
	1, 7, 9, 11, 13, 15, 17, 19, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111,
	113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
	540, 548, 554, 556, 563, 587, 601, 636, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000,
	6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
}

// TestSection6EveryPort: BadPort refuses the servers of other protocols; Parse takes every port.
func TestSection6EveryPort(t *testing.T) {
	for port := 1; port <= 65535; port++ {
		text := fmt.Sprintf("ftp://u:S3CRET@h:%05d/f", port)
		u, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		err = u.BadPort()
		var refusal *Error
		if bad := slices.Contains(badPorts, port); (err != nil) != bad || bad && (!errors.As(err, &refusal) || refusal.Column != 18 || strings.Contains(err.Error(), "S3CRET")) {
			t.Errorf("%s: got %v, want refused %v", text, err, bad)
		}
	}
}
