package main

import (
	"slices"
	"strings"
)

// dialogue is what a program sends: the command lines of each connection.
type dialogue [][]string

// cell returns the commands that decide what is retrieved, and as whom if the URL names a user; with ports, also those
// that open data connections. Connections that say the same as an earlier one are left out.
func (d dialogue) cell(ports bool) string {
	return d.join(func(lines []string) []string { return deciding(lines, ports) })
}

// whole returns all commands but QUIT, without the addresses of PORT and EPRT.
func (d dialogue) whole() string {
	return d.join(func(lines []string) (all []string) {
		for _, line := range lines {
			switch verb, _, _ := strings.Cut(line, " "); verb {
			case "QUIT":
			case "PORT", "EPRT":
				all = append(all, verb)
			default:
				all = append(all, shown(line))
			}
		}
		return all
	})
}

func (d dialogue) join(of func([]string) []string) string {
	var all []string
	for _, lines := range d {
		text := strings.Join(of(lines), ", ")
		if text != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.ToValidUTF8(strings.Join(all, " / "), `\x`)
}

// deciding leaves what decides: for the user me the login, directories, transfers, and a transfer's type if it is not
// the usual one. If there is no transfer, it is what asks about the file.
func deciding(lines []string, ports bool) []string {
	var all, asked []string
	kind, named := "TYPE A", false // RFC 959 section 5.1
	for _, line := range lines {
		verb, argument, _ := strings.Cut(line, " ")
		switch verb {
		case "TYPE":
			kind = line
		case "USER":
			named = argument == "me" || strings.HasPrefix(argument, "me@")
			if named {
				all = append(all, shown(line))
			}
		case "PASS":
			if named {
				all = append(all, shown(line))
			}
		case "EPSV", "PASV", "PORT", "EPRT":
			if ports {
				all = append(all, verb)
			}
		case "SIZE", "MDTM", "MLST":
			asked = append(asked, shown(line))
		case "RETR":
			if kind != "TYPE I" {
				all = append(all, kind)
			}
			all = append(all, shown(line))
		case "CWD", "CDUP", "LIST", "NLST", "MLSD", "STAT":
			all = append(all, shown(line))
		}
	}
	if len(all) == 0 {
		return slices.Compact(asked)
	}
	return slices.Compact(all)
}

// shown returns a line with its null argument, if it has one, as a pair of quotation marks.
func shown(line string) string {
	if verb, found := strings.CutSuffix(line, " "); found && !strings.Contains(verb, " ") {
		return verb + ` ""`
	}
	return line
}
