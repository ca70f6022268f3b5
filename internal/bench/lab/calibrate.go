//go:build linux

package lab

import (
	"context"
	"fmt"
)

// calibrationRuns is how many TCP handshakes measure a link.
const calibrationRuns = 20

// Calibrate measures the link's round trip with TCP handshakes, in milliseconds.
func (l *Link) Calibrate(ctx context.Context) (Spread, error) {
	var got []float64
	for range calibrationRuns {
		took, err := Handshake(ctx, l.Host(), l.Control[0])
		if err != nil {
			return Spread{}, fmt.Errorf("measuring the %s link: %w", l.Name, err)
		}
		got = append(got, float64(took.Microseconds())/1000)
	}
	return SpreadOf(got), nil
}
