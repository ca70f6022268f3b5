package glob

import (
	"strings"
	"testing"
)

// TestAdvice checks what is advised to users of other programs, and that a guess matches what it says.
func TestAdvice(t *testing.T) {
	names := strings.Fields("a.txt b.TXT sub/c.gz sub/d.gz fastq/SRR1_1.fastq.gz README")
	for patterns, want := range map[string]string{
		"txt": "'*.txt', which matches 1", ".txt": "'*.txt', which matches 1", "*.GZ": "'*.gz', which matches 3", "TXT": "'*.TXT', which matches 1",
		"readme": "'README', which matches 1", `.*\.gz$`: "'*.gz', which matches 3", `\.gz$`: "'*.gz', which matches 3", "pub/sub/*.gz": "'*.gz', which matches 3", "SRR": "'*SRR*', which matches 1",
		"*.zip gz": "'*.gz', which matches 3", "*.zip": "", "[": "", "o'k": "",
	} {
		g := Guess(strings.Fields(patterns))
		for _, name := range names {
			g.Add(name)
		}
		if want != "" {
			want = " (write " + want + ")"
		}
		if got := g.Advice(); got != want {
			t.Errorf("%s: %q, want %q", patterns, got, want)
		}
	}
}
