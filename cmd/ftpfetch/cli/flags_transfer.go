package cli

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec"
	"golang.org/x/time/rate"
)

// transferOptions is the values of flags that concern all transfers alike.
type transferOptions struct {
	limitRate  size // octets a second; 0: no limit
	speedLimit size // octets a second that a server has to send; 0: any
	speedTime  time.Duration
	progress   progressMode
}

// rateFlags declares the flags of how fast transfers go.
func (o *transferOptions) rateFlags(fs group) {
	fs.Var(&o.limitRate, "limit-rate", "take at most `RATE` octets a second in all (500K, 2M, 1G are binary)")
	fs.VarP(&o.speedLimit, "speed-limit", "Y", "give up where a connection brings fewer than `RATE` octets a second for --speed-time")
	o.speedTime = ftpexec.DefaultLeastTime
	fs.VarP((*duration)(&o.speedTime), "speed-time", "y", "the `TIME` of --speed-limit, whose RATE is 1 where only this flag is given")
}

// checkRates refuses rates that contradict each other.
func (o *transferOptions) checkRates(given func(flag string) bool) error {
	if given("speed-time") && o.speedLimit == 0 {
		o.speedLimit = 1
	}
	if o.limitRate != 0 && o.limitRate < o.speedLimit {
		return usage("--limit-rate %s is less than --speed-limit %s: a server could never be fast enough; raise the one or lower the other", &o.limitRate, &o.speedLimit)
	}
	return nil
}

// progressFlags declares the flags of how transfers are shown.
func (o *transferOptions) progressFlags(fs group) {
	fs.Var(&o.progress, "progress", "show transfers as `auto|bar|plain|json|none`; auto: bar on a terminal, else plain")
}

// leastBurst is what package download takes at once under the lowest rates.
const leastBurst = 512

// newLimiter is the limit that all connections of a run share; nil: none. Its
// burst is an eighth of a second's octets, so that a transfer after a pause
// does not shoot ahead. It begins empty: at no time has a run taken more than
// the rate times its age.
func (o *transferOptions) newLimiter(now time.Time) *rate.Limiter {
	if o.limitRate == 0 {
		return nil
	}
	burst := min(max(o.limitRate/8, leastBurst), math.MaxInt32)
	l := rate.NewLimiter(rate.Limit(o.limitRate), int(burst))
	l.AllowN(now, int(burst))
	return l
}

// size is a flag's number of octets: plain, or with K, M or G, which are
// binary. 0 is none given.
type size int64

// Set reads 500K, 1.5m, 4096.
func (z *size) Set(s string) error {
	digits, unit := s, 1.0
	if i := len(s) - 1; i >= 0 {
		if power := strings.IndexByte("KMG", s[i]&^0x20); power >= 0 {
			digits, unit = s[:i], math.Pow(1024, float64(power+1))
		}
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err == nil && unit == 1 && strings.Contains(digits, ".") {
		return errors.New("write whole octets such as 4096, or a unit: 1.5K, 1.5M or 1.5G")
	}
	n = math.Floor(n * unit)
	if err != nil || strings.Trim(digits, "0123456789.") != "" {
		return errors.New("write octets such as 500K, 1.5M, 2G or 4096 (K, M and G are binary)")
	}
	if n < 1 || n > 1<<53 {
		return errors.New("write at least 1 and at most 8388608G octets; without the flag there is no limit")
	}
	*z = size(n)
	return nil
}

// String returns what Set takes, in the largest unit that is exact.
func (z *size) String() string {
	n, unit := int64(*z), ""
	for _, u := range []string{"K", "M", "G"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, u
	}
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10) + unit
}

// Type is the kind of value that pflag names in its errors.
func (z *size) Type() string { return "size" }
