package listing

import (
	"io/fs"
	"strings"

	"example.com/ftpfetch/internal/lazy"
)

// mode matches the type, and three times three permissions.
var mode = lazy.Regexp(`^[-bcdlpsDL](?:[-r][-w][-xsStTlL]){3}..`)

// oddMode matches what other systems write in place of a mode: Connect:Enterprise, one with too few letters, and the
// rights of NetWare.
var oddMode = lazy.Regexp(`^([-d])(?:(?:[A-Z]*-[-A-Z]*[A-Z]{3} |[-rwx]{8} )|( ?\[[-A-Za-z]*\] ))`)

// humanSize matches the size of an entry as ls -h shows it.
var humanSize = lazy.Regexp(`^\d+(?:[.,]\d+)?(?:[KMGTP]i?B?|[kmgB])$`)

// unix reads a line of ls -l, with or without the number of links and the group: "drwxr-xr-x 2 ftp ftp 4096 Jan  2
// 15:04 name".
func unix(r *Reader, m []string) (Item, error) {
	item := Item{Size: -1}
	line := m[0]
	rest, padded := item.takeMode(line)
	if rest == "" {
		return item, broken{lsName, "permissions", 0}
	}
	var space [maxWords]word
	all := split(rest, space[:0])
	i, d := r.findDate(all)
	switch {
	case d.words == 0:
		return item, broken{lsName, "a size and a date", len(line) - len(rest)}
	case i+d.words >= len(all):
		return item, broken{lsName, "a name", len(line)}
	}
	d.on(&item)
	name := rest[all[i+d.words-1].end+1:]
	if padded {
		name = strings.TrimLeft(name, " ")
	}
	item.Name, item.Doubt = r.unpad(name, d.short)
	item.setSize(sizeBefore(all, i))
	item.Doubt = item.Doubt || d.unit < day && zone().MatchString(item.Name) || item.marked()
	if item.Mode.IsDir() {
		item.Name = strings.TrimSuffix(item.Name, ".DIR;1") // VMS
	}
	if strings.Trim(item.Name, " ") == "" {
		return item, broken{lsName, "a name", len(line)}
	}
	return item, nil
}

// sizeBefore returns the size in the word before the i-th, where the date begins. It is -1 if two words are the numbers
// of a device, or one number such as "12 345".
func sizeBefore(all []word, i int) int64 {
	device := i > 1 && strings.HasSuffix(all[i-2].text, ",")
	if device || i > 4 && number(all[i-2].text) >= 0 {
		return -1
	}
	return size(all[i-1].text)
}

// marked reports whether the name may end in the mark of a program, which ls -F writes.
func (item *Item) marked() bool {
	return item.Mode.IsRegular() && item.Mode&0o111 != 0 && strings.HasSuffix(item.Name, "*")
}

// findDate returns the date in a line, and which word it begins with. The word before it ends in the size, into which a
// group may run. A date with unknown words counts only where one is expected.
func (r *Reader) findDate(all []word) (int, date) {
	for i := 1; i < len(all); i++ {
		if !endsInSize(all[i-1].text) {
			continue
		}
		d := dateIn(all[i:], false, r.now)
		switch {
		case d.words == 0:
		case i == 1 && dateIn(all[1+d.words:], false, r.now).words > 0:
			// Either the first begins with an owner "may", or the second is in the name.
			return 0, date{}
		default:
			return i, d
		}
	}
	return r.findUnknown(all)
}

// endsInSize reports whether a word may end in a size.
func endsInSize(text string) bool {
	last := text[len(text)-1]
	return last >= '0' && (last <= '9' || humanSize().MatchString(text))
}

// findUnknown returns a date with unknown words where one is expected: after the links, perhaps the owner, the group
// and the size.
func (r *Reader) findUnknown(all []word) (int, date) {
	for _, i := range []int{4, 3} {
		if i < len(all) && number(all[0].text) >= 0 &&
			strings.ContainsAny(all[i-1].text[:1], "0123456789") {
			if d := dateIn(all[i:], true, r.now); d.words > 0 {
				return i, d
			}
		}
	}
	return 0, date{}
}

// takeMode takes the mode at the beginning of a line, and returns what follows it: "" if there is no mode. NetWare pads
// the names, so that they stand in a column.
func (item *Item) takeMode(line string) (rest string, padded bool) {
	line = strings.TrimLeft(line, " ") // some servers indent all lines
	if mode().MatchString(line) {
		item.Mode = kinds[line[0]] | letters(line[1:10])
		item.HasPerm = true
		if strings.IndexByte(".+@", line[10]) >= 0 {
			return line[11:], false
		}
		return line[10:], false
	}
	if m := oddMode().FindStringSubmatch(line); m != nil {
		item.Mode = kinds[m[1][0]]
		return line[len(m[0])-1:], m[2] != ""
	}
	return "", false
}

// setSize takes the size that ls shows. The size of a symbolic link is the length of its target.
func (item *Item) setSize(n int64) {
	switch {
	case item.Mode.IsRegular():
		item.Size = n
	case item.Mode&fs.ModeSymlink != 0:
		item.cutTarget(n)
	}
}

// cutTarget splits the name of a symbolic link from its target, which has this length. The name may contain an arrow:
// the right one is where the size says that the target begins.
func (item *Item) cutTarget(n int64) {
	const arrow = " -> "
	name := item.Name
	at := int64(len(name)-len(arrow)) - n
	if n > 0 && at > 0 && strings.HasPrefix(name[at:], arrow) {
		item.Name = name[:at]
		item.Target = name[len(name)-int(n):]
		return
	}
	item.Name, item.Target, _ = strings.Cut(name, arrow)
}

// kinds are the types that the first letter of a mode means. "-" is a file.
var kinds = map[byte]fs.FileMode{
	'd': fs.ModeDir,
	'l': fs.ModeSymlink,
	'L': fs.ModeSymlink, // servers in Go
	'b': fs.ModeDevice,
	'c': fs.ModeDevice | fs.ModeCharDevice,
	'p': fs.ModeNamedPipe,
	's': fs.ModeSocket,
	'D': fs.ModeIrregular,
}

// letters returns the permissions that nine letters mean.
func letters(text string) fs.FileMode {
	bits := uint64(0)
	for i, letter := range []byte(text) {
		if strings.IndexByte("-STlL", letter) < 0 {
			bits |= 0o400 >> i
		}
		if strings.IndexByte("sStTlL", letter) >= 0 {
			bits |= 0o4000 >> (i / 3)
		}
	}
	return permissions(bits)
}

// word is a word of a line, and where it begins and ends there.
type word struct {
	text       string
	start, end int
}

// maxWords bounds the search for the time: owners and groups are short.
const maxWords = 16

// split appends the first words of a text to all.
func split(text string, all []word) []word {
	for end := 0; len(all) < maxWords; {
		start := end
		for start < len(text) && (text[start] == ' ' || text[start] == '\t') {
			start++
		}
		end = start
		for end < len(text) && text[end] != ' ' && text[end] != '\t' {
			end++
		}
		if start == end {
			break
		}
		all = append(all, word{text[start:end], start, end})
	}
	return all
}
