package glob

import (
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Choice is something that a URL with patterns in its path stands for.
type Choice struct {
	URL     string // of a file; or of the directory in which Pattern chooses
	Pattern string // of a path below the directory, decoded: each of its segments is a pattern of names; "" for the URL itself
	Dirs    int    // how many of the last directories of URL are the work of patterns
}

// mostChoices bounds what one URL stands for.
const mostChoices = 100_000

// Choices returns what a URL stands for. A list, which is {a,b}, [1-20] or [01-09:2], is written out as curl does it: all
// that it names must exist. From the first segment on that has *, ? or a set such as [a-z], the path is a Pattern, in which
// lists are alternatives: the servers tell what matches it. What is percent-encoded stands for itself.
func Choices(text string) ([]Choice, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	host, rest, found := strings.Cut(rest, "/")
	if !found {
		return []Choice{{URL: text}}, nil
	}
	segments := strings.Split(rest, "/")
	chosen, choices := len(segments), []Choice{{URL: scheme + "://" + host}}
	for i, segment := range segments {
		if wild(segment) {
			pattern, err := decoded(segments[i:])
			for j := range choices {
				choices[j] = Choice{choices[j].URL + "/", pattern, max(0, i-chosen)}
			}
			return choices, err
		}
		names, err := written(segment)
		if len(names) > 1 {
			chosen = min(chosen, i)
		}
		if err == nil && len(choices)*len(names) > mostChoices {
			err = tooMany(text)
		}
		if err != nil {
			return nil, err
		}
		dirs := i - chosen
		if segment == "" { // the end of a directory's URL
			dirs--
		}
		var longer []Choice
		for _, c := range choices {
			for _, name := range names {
				longer = append(longer, Choice{URL: c.URL + "/" + name, Dirs: max(0, dirs)})
			}
		}
		choices = longer
	}
	return choices, nil
}

var (
	list    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{([^{}]*)\}|\[(\d+)-(\d+)(?::(\d+))?\]`) })
	percent = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%([0-9A-Fa-f]{2})?`) })
)

// wild reports whether servers must be asked what a segment names.
func wild(segment string) bool {
	return strings.ContainsAny(segment, "*?[{") && strings.ContainsAny(list().ReplaceAllString(segment, ""), "*?[{")
}

// written writes out the lists in a segment.
func written(segment string) ([]string, error) {
	at := list().FindStringSubmatchIndex(segment)
	if at == nil {
		return []string{segment}, nil
	}
	members, err := members(segment[at[0]:at[1]])
	if err != nil {
		return nil, err
	}
	rest, err := written(segment[at[1]:])
	if len(members)*len(rest) > mostChoices {
		return nil, tooMany(segment)
	}
	var all []string
	for _, m := range members {
		for _, r := range rest {
			all = append(all, segment[:at[0]]+m+r)
		}
	}
	return all, err
}

func tooMany(s string) error {
	return fmt.Errorf("%s stands for more than %d names: write -i with a list of URLs", s, mostChoices)
}

// members returns what a list stands for. The numbers of a range have as many digits as its first one.
func members(text string) (all []string, err error) {
	part := list().FindStringSubmatch(text)
	if from, to, dots := strings.Cut(part[1], ".."); dots && !strings.Contains(part[1], ",") {
		return nil, fmt.Errorf("%s is no list: write [%s-%s]", text, from, to)
	}
	if part[2] == "" {
		return strings.Split(part[1], ","), nil
	}
	first, err := strconv.Atoi(part[2])
	last, lerr := strconv.Atoi(part[3])
	step := 1
	if part[4] != "" {
		step, _ = strconv.Atoi(part[4])
	}
	switch {
	case err != nil || lerr != nil || step == 0 || last < first:
		return nil, fmt.Errorf("the range %s is none: write [1-20], [01-20] or [1-20:2]", text)
	case (last-first)/step >= mostChoices:
		return nil, tooMany(text)
	}
	for n := first; n <= last; n += step {
		all = append(all, fmt.Sprintf("%0*d", len(part[2]), n))
	}
	return all, nil
}

// decoded returns the pattern of segments of a URL. A range of more than single digits becomes alternatives.
func decoded(segments []string) (string, error) {
	segments = slices.Clone(segments)
	if last := len(segments) - 1; last > 0 && segments[last] == "" { // the directories that match
		segments = segments[:last]
	}
	for i, segment := range segments {
		var err error
		segment = list().ReplaceAllStringFunc(segment, func(text string) string {
			all, bad := members(text)
			if err = errors.Join(err, bad); len(text) == len("[1-9]") && text[0] == '[' || bad != nil {
				return text
			}
			return "{" + strings.Join(all, ",") + "}"
		})
		segments[i] = percent().ReplaceAllStringFunc(segment, func(code string) string {
			b, _ := hex.DecodeString(code[1:])
			switch {
			case len(b) == 0:
				err = fmt.Errorf(`the pattern %s has a "%%" that is not followed by two hexadecimal digits: write %%25 for a "%%" itself`, segment)
			case b[0] == '/':
				err = fmt.Errorf("the pattern %s has %%2F: write it as a segment of its own, as in ftp://host/%%2F/*.gz", segment)
			case strings.IndexByte(`*?[]{}\!-^,`, b[0]) >= 0: // what was encoded stands for itself
				return `\` + string(b)
			}
			return string(b)
		})
		switch bad := Check(segments[i]); {
		case err != nil:
			return "", err
		case segment == "**":
			return "", errors.New("** means nothing in a URL: leave out --glob, and write -r with --accept")
		case strings.Contains(segment, ";type="):
			return "", errors.New("a pattern has no ;type=: write --type a, i or guess")
		case bad != nil:
			return "", fmt.Errorf("the pattern %s is malformed: %w", segment, bad)
		}
	}
	return strings.Join(segments, "/"), nil
}
