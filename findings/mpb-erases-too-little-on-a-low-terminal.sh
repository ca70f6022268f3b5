#!/usr/bin/env bash
# mpb draws progress bars, one line each, and draws them again in place. It asks the terminal for its height, and leaves out the
# first bars if not all fit.
#
# Guess: what it draws on a low terminal is drawn again in place, too: before each frame the cursor goes up as many lines as
# the last frame had.
# Seen (mpb 8.16.2, a terminal of six rows): it goes up by the lines that it drew less those that it left out. With seven
# bars it draws six and goes up five; with nine, six and three; with twelve bars it never goes up, and each frame stands below
# the last one. Six bars are drawn as six lines and the cursor stands on a seventh, so that the first line scrolls away.
# Why it matters: a program that fetches many files at once, in a small window or a pane of a terminal multiplexer, fills
# the scrollback with frames, ten a second.
source "$(dirname "$0")/kit/kit.bash"
cat >main.go <<'END'
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

func main() {
	var n int
	fmt.Sscan(os.Args[1], &n)
	refresh := make(chan any)
	p := mpb.New(mpb.WithWidth(20), mpb.WithManualRefresh(refresh))
	var bars []*mpb.Bar
	for i := range n {
		bars = append(bars, p.AddBar(5, mpb.PrependDecorators(decor.Name(fmt.Sprint("file ", i)))))
	}
	for range 5 {
		for _, b := range bars {
			b.Increment()
		}
		refresh <- time.Now()
	}
	p.Wait()
}
END
cat >go.mod <<'END'
module finding

go 1.25

require github.com/vbauerster/mpb/v8 v8.16.2
END
go mod tidy >/dev/null 2>&1
go build -o bars .

# drawn BARS sets $got to the lines of the first frame, and by how many lines the cursor goes up before each later one.
drawn() {
	limited script -qec "stty rows 6 cols 40; ./bars $1" /dev/null >shown
	local up
	up=$(grep -o $'\x1b\[[0-9]*A' shown | tr -d '\033[A' | sort -u || true)
	got="$(sed '/\x1b/q' shown | grep -c '^file') lines, up ${up:-never}"
}

for expected in '5: 5 lines, up 5' '6: 6 lines, up 6' '7: 6 lines, up 5' '9: 6 lines, up 3'; do
	drawn "${expected%%:*}"
	expect "${expected%%:*} bars" "${expected#*: }" "$got"
done
drawn 12
expect '12 bars' never "${got##* }"
expect 'frames of 12 bars that stand below each other' several "$([ "$(grep -c '^file 11 ' shown)" -gt 3 ] && echo several)"
