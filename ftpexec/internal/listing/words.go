package listing

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

//go:embed words.txt
var wordsText string

// vocabulary is what words.txt holds.
type vocabulary struct {
	months map[string]int  // from 1
	sums   map[string]bool // the words of ls for the sum of a listing
	units  *strings.Replacer
}

// words returns the words of listings in all languages. The mark of a year or a day becomes a space.
var words = sync.OnceValue(func() vocabulary {
	v := vocabulary{months: make(map[string]int), sums: make(map[string]bool)}
	for line := range strings.Lines(wordsText) {
		title, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		cells := strings.Split(text, " | ")
		switch {
		case title == "sum":
			for _, word := range strings.Fields(text) {
				v.sums[octets(word)] = true
			}
		case title == "unit":
			var pairs []string
			for _, word := range strings.Fields(text) {
				pairs = append(pairs, octets(word), " ")
			}
			v.units = strings.NewReplacer(pairs...)
		case len(cells) == 12:
			for i, cell := range cells {
				for _, word := range strings.Fields(cell) {
					v.months[octets(word)] = i + 1
				}
			}
		}
	}
	return v
})

// octets returns a word of words.txt in which "\xNN" stands for an octet.
func octets(word string) string {
	text, err := strconv.Unquote(`"` + word + `"`)
	if err != nil {
		panic("words.txt: " + word)
	}
	return text
}

// month returns the number of a month, from 1, or 0. A name may be capitalized, and a dot or comma may follow it.
func month(text string) int {
	text = strings.TrimRight(text, ".,")
	if m := words().months[text]; m > 0 {
		return m
	}
	return words().months[strings.ToLower(text)]
}
