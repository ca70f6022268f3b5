package manifest

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/urlparse"
)

// numbers are numbers that programs often get wrong.
var numbers = []string{"0", "-0", "+1", "-1", "1", "127", "128", "65535", "65536", "2147483647", "2147483648", "-2147483648", "4294967295", "4294967296",
	"4611686018427387903", "4611686018427387904", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551615", "18446744073709551616",
	strings.Repeat("9", 40), "-" + strings.Repeat("9", 40), "1e3", "1.5", "0x10", "1_000", " 1 ", "", "NaN", "٣"}

// TestNumbers puts each number into each numeric field of each form, in place of N. Read must yield exactly that
// number, or an error that names the line and the field.
func TestNumbers(t *testing.T) {
	nth := 0
	for _, tt := range []struct{ field, text string }{
		{"size", "url\tsize\nftp://h/a\tN\n"}, {"size", "url,size\nftp://h/a,N\n"}, {"size", "url,size\nftp://h/a,\"N\"\n"},
		{"size", "[\n{\"url\":\"ftp://h/a\",\"size\":N}]"}, {"size", "[\n{\"url\":\"ftp://h/a\",\"size\":\"N\"}]"},
		{"size", "{\"url\":\"ftp://h/0\"}\n{\"url\":\"ftp://h/a\",\"size\":N}\n"}, {"size", "{\"url\":\"ftp://h/0\"}\n{\"url\":\"ftp://h/a\",\"size\":\"N\"}\n"},
		{"size", "<metalink>\n<file name='a'><size>N</size><url>ftp://h/a</url></file></metalink>"},
		{"priority or preference", "<metalink>\n<file name='a'><url priority='N'>ftp://h/a</url><url priority='1'>ftp://h/b</url></file></metalink>"},
		{"priority or preference", "<metalink>\n<file name='a'><url preference='N'>ftp://h/a</url><url preference='100'>ftp://h/b</url></file></metalink>"},
		{"fastq_bytes", "fastq_ftp\tfastq_bytes\nh.org/a;h.org/b\t3;N\n"}, {"fastq_bytes", "fastq_ftp\tfastq_bytes\nh.org/a\tN\n"},
		{"port", "ftp://h/0\nftp://h:N/a\n"}, {"sum", "# sums\n12345 N a\n"}, {"kib", "# sums\nN 12 a\n"},
	} {
		for _, number := range numbers {
			nth++
			text, name := strings.ReplaceAll(tt.text, "N", number), fmt.Sprintf("%.30q %s", tt.text, number)
			if isJSON := strings.Contains(tt.text, ":N}"); isJSON && (number == "" || strings.HasPrefix(number, "+") || strings.ContainsAny(number, "x_N٣")) {
				continue // not JSON
			}
			o := Options{}
			if tt.field == "sum" || tt.field == "kib" {
				o.Format, o.Base = "sums", must.Get(urlparse.Parse("ftp://h/"))(t)
			}
			plain := strings.TrimSpace(number)
			is, err := strconv.ParseInt(plain, 10, 64)
			good := err == nil && is >= 0 && plain != "" && plain[0] != '-' && plain[0] != '+' || plain == ""
			switch n := number; tt.field {
			case "priority or preference":
				good = n == "" || err == nil
			case "port", "sum", "kib":
				good = false // other tests check good numbers
			}
			for way, read := range ways {
				items, errs := read(strings.NewReader(text), o)
				spaced := number != plain || number == "" // some forms trim spaces
				if tt.field == "port" || tt.field == "sum" || tt.field == "kib" || spaced && len(errs) == 1 && strings.Contains(errs[0].Error(), tt.field) {
					if len(errs) > 1 || len(errs) == 1 && !strings.HasPrefix(errs[0].Error(), "line 2: ") {
						t.Errorf("%s, %s: %v", way, name, errs)
					}
				} else if good != (errs == nil) || errs != nil && (len(errs) > 1 || !strings.HasPrefix(errs[0].Error(), "line 2: "+tt.field+": ")) {
					t.Errorf("%s, %s: %d items, %v", way, name, items, errs)
				}
			}
			for item, err := range Read(io.Reader(strings.NewReader(text)), &o) {
				if last := err == nil && strings.HasSuffix(item.URLs[0].Name, "a"); last && tt.field == "size" && (plain == "") != (item.Size == nil) || last && item.Size != nil && tt.field == "size" && *item.Size != is {
					t.Errorf("%s: %+v", name, item)
				}
			}
		}
	}
	if nth != 15*len(numbers) {
		t.Errorf("%d cases", nth)
	}
}

// TestTotals checks the total size of a list, which is unknown if it overflows.
func TestTotals(t *testing.T) {
	const most = "9223372036854775807"
	for sizes, want := range map[string]int64{"0": 0, most: 1<<63 - 1, most + " 0": 1<<63 - 1, most + " 1": -1, most + " " + most + " " + most: -1, "4611686018427387904 4611686018427387904": -1, "1 2": 3} {
		text := "url\tsize\n"
		for i, size := range strings.Fields(sizes) {
			text += fmt.Sprintf("ftp://h/%d\t%s\n", i, size)
		}
		if _, octets, errs := Check(strings.NewReader(text), nil); octets != want || errs != nil {
			t.Errorf("%s: %d, %v", sizes, octets, errs)
		}
	}
}
