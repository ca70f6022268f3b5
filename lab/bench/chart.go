package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// panels are the panels of the chart: each shows a column of a table of performance.md for the clients whose names have
// that ending.
var panels = []struct {
	title, table, ending string
	column               int
}{
	{"Round trips to the last byte of a file three directories deep", "One file three directories deep, anonymous", "", 1},
	{"Round trips for each of 100 small files, over one connection", "100 files of 4096 bytes over a round trip of 50ms", ", 1 at once", 2},
	{"The same, over six", "100 files of 4096 bytes over a round trip of 50ms", ", 6 at once", 2},
}

// chart draws docs/chart.svg from the text of performance.md. The colors are legible on light and dark pages.
func chart(document string) (string, error) {
	const line, left, scale = 20, 150, 36
	y, drawn := 0, ""
	for _, p := range panels {
		_, table, _ := strings.Cut(document, "### "+p.table+"\n")
		table, _, _ = strings.Cut(table, "###")
		y += 2 * line
		drawn += fmt.Sprintf(`<text y="%d" font-weight="bold">%s</text>`+"\n", y-5, p.title)
		before := y
		for _, row := range regexp.MustCompile(`(?m)^\| .* \|$`).FindAllString(table, -1) {
			cells := strings.Split(strings.Trim(row, "| "), " | ")
			name, found := strings.CutSuffix(cells[0], p.ending)
			figure := cells[min(p.column, len(cells)-1)]
			value, err := strconv.ParseFloat(figure, 64)
			if err != nil || !found {
				continue
			}
			y += line
			color, length := map[bool]string{true: "#2f81f7", false: "#8b949e"}[name == ours], int(value*scale)
			drawn += fmt.Sprintf(`<text y="%d">%s</text><rect x="%d" y="%d" width="%d" height="16" rx="2" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n",
				y-5, name, left, y-line+2, length, color, left+length+6, y-5, figure)
		}
		if y == before {
			return "", fmt.Errorf("no figures under %q", p.table)
		}
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 %d" role="img" font-family="sans-serif" font-size="14" fill="#7d8590">`+
		"\n<title>Round trips that FTP clients take: the fewer the better</title>\n%s</svg>\n", y+4, drawn), nil
}
