package main

import "strings"

// telling is a URL at which programs differ: a column of the tables.
type telling struct {
	url  string   // HOST stands for the server's address
	want []string // what RFC 1738 lets a program send, as dialogue.cell writes it
	// section says which section of RFC 1738 a cell leaves that is not in want.
	section func(cell string) string
}

// tellings are the columns of the three tables.
var tellings = [][]telling{
	{
		{"ftp://HOST/%2Fetc/motd", []string{"CWD /etc, RETR motd"}, byPath},
		{"ftp://HOST//etc/motd", []string{`CWD "", CWD etc, RETR motd`}, byPath},
		{"ftp://HOST/a//b/f", []string{`CWD a, CWD "", CWD b, RETR f`}, byPath},
		{"ftp://HOST/x%2Fy/f", []string{"CWD x/y, RETR f"}, byPath},
		{"ftp://HOST/a/../f", []string{"CWD a, CWD .., RETR f"}, byPath},
	},
	{
		{"ftp://HOST/t.txt;type=a", []string{"TYPE A, RETR t.txt"}, byPath},
		{"ftp://HOST/dir;type=d", []string{"NLST dir"}, byPath},
		{"ftp://HOST", []string{"LIST", "NLST", "MLSD"}, byPath},
		{"ftp://HOST/dir/q?x", []string{"CWD dir, RETR q?x"}, unless("?x", "5")},
		{"ftp://HOST/a%20b/c%23d", []string{"CWD a b, RETR c#d"}, byPath},
	},
	{
		{"ftp://HOST/dir/f#x", []string{"", "CWD dir, RETR f"}, func(cell string) string {
			if strings.Contains(cell, "#") {
				return "2.2"
			}
			return byPath(cell)
		}},
		{"ftp://me@HOST/dir/f", []string{"USER me"}, func(cell string) string {
			if cell == "" || strings.HasPrefix(cell, "USER me") {
				return "3.2.1"
			}
			return "3.1"
		}},
		{"ftp://HOST:2121/dir/f", []string{"CWD dir, RETR f"}, unless("f", "3.1")},
		{addressURL, nil, nil},
	},
}

// addressURL is the one URL with an IPv6 address.
const addressURL = "ftp://[::1]/dir/f"

// byPath is the section of a cell whose directory changes, type or transfer differ; 2.2 if an escape was not decoded.
func byPath(cell string) string {
	if strings.Contains(cell, "%") {
		return "2.2"
	}
	return "3.2.2"
}

// unless returns a function for cells that leave section if they lack part.
func unless(part, section string) func(string) string {
	return func(cell string) string {
		if !strings.Contains(cell, part) {
			return section
		}
		return byPath(cell)
	}
}

// sentText is what each file holds: XML, for programs that read it.
const sentText = "<a/>\n"

// sentTree is what the server has, at each place where a program may look for it.
func sentTree() map[string]string {
	tree := make(map[string]string)
	for _, name := range []string{"etc/motd", "a/b/f", "x/y/f", "f", "t.txt", "dir/f", "dir/q?x", "a b/c#d"} {
		tree["/"+name], tree["/home/"+name] = sentText, sentText
	}
	return tree
}
