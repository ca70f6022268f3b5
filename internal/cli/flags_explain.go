package cli

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"
)

// explain turns an error from pflag into one helpful line. It names an unknown
// short flag by its letter only: a password may follow.
func explain(err error, all *pflag.FlagSet) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		dashes := "--"
		if unknown.GetSpecifiedShortnames() != "" {
			dashes = "-"
		}
		return usage("unknown flag %s%s%s", dashes, name, instead(name, all))
	case errors.As(err, &missing):
		value, _ := pflag.UnquoteUsage(missing.GetFlag())
		name := missing.GetFlag().Name
		return usage("--%s needs a value: write --%s %s", name, name, value)
	case errors.As(err, &invalid):
		return badValue(invalid.GetFlag().Name, invalid.GetValue(), invalid.Unwrap())
	}
	return &usageError{err.Error()}
}

// badValue returns the error for a flag's bad value. It does not show a value
// that looks like a URL: it may hold a password.
func badValue(flag, value string, why error) error {
	if value == "" {
		value = `""`
	}
	if strings.Contains(value, "://") {
		value = "URL"
	}
	text := why.Error()
	if strings.HasPrefix(text, "strconv.") {
		text = "write --" + flag + " or --" + flag + "=false" // the library's words are for programmers
	}
	return usage("--%s %s: %s", flag, value, text)
}

// elsewhere maps flags of other programs to what to write here instead.
var elsewhere = map[string]string{
	"C":                         "-c",
	"k":                         "--insecure",
	"P":                         "-d DIR",
	"x":                         "--proxy URL",
	"m":                         "--max-time TIME",
	"t":                         "--retries N",
	"T":                         "--timeout TIME",
	"O":                         "nothing, a file is saved under its own name, or -o FILE",
	"remote-name":               "nothing, a file is saved under its own name",
	"remote-name-all":           "nothing, each file is saved under its own name",
	"remote-time":               "nothing, a file gets the server's time",
	"list-only":                 "the URL of the directory with ;type=d at its end",
	"mirror":                    "-r -N",
	"level":                     "--depth N",
	"parallel":                  "-j N",
	"parallel-max":              "-j N",
	"max-concurrent-downloads":  "-j N",
	"max-connection-per-server": "-s N, or --per-host N",
	"input-file":                "-i FILE",
	"head":                      "-I",
	"spider":                    "-I",
	"silent":                    "-q",
	"output-document":           "-o FILE",
	"output-dir":                "-d DIR",
	"directory-prefix":          "-d DIR",
	"continue-at":               "-c",
	"retry":                     "--retries N",
	"tries":                     "--retries N",
	"ssl":                       "--tls try",
	"ssl-reqd":                  "--tls explicit",
	"ftp-ssl":                   "--tls try",
	"ftp-port":                  "--active",
	"ftp-pasv":                  "nothing, passive mode is used unless --active is given",
	"disable-epsv":              "--no-epsv",
	"use-ascii":                 "--type a",
	"interface":                 "--bind ADDR",
	"bind-address":              "--bind ADDR",
	"timestamping":              "--newer",
	"ca-certificate":            "--cacert FILE",
	"no-check-certificate":      "--insecure",
	"ftp-user":                  "--user NAME",
	"ftp-password":              "--password-stdin",
	"password":                  "--password-stdin",
	"no-passive-ftp":            "--active",
	"proxy-user":                "the name and the password in the proxy's URL",
	"socks5":                    "--proxy socks5://HOST:PORT",
	"noproxy":                   "--proxy none, or set NO_PROXY",
	"no-proxy":                  "--proxy none",
	"lowest-speed-limit":        "--speed-limit RATE",
}

// instead says what to write for another program's flag or a misspelt one.
func instead(name string, all *pflag.FlagSet) string {
	if here, ok := elsewhere[name]; ok {
		return ": write " + here
	}
	best := ""
	all.VisitAll(func(f *pflag.Flag) {
		if len(name) > 2 && distance(name, f.Name) <= len(name)/3 {
			best = ": perhaps --" + f.Name
		}
	})
	return best
}

// distance returns how many changes turn a into b: letters changed, added or
// dropped, and neighbours swapped.
func distance(a, b string) int {
	var before []int // the row above the one above
	above := make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			row[j+1] = 1 + min(above[j], row[j], above[j+1])
			if a[i] == b[j] {
				row[j+1] = above[j]
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above = above, row
	}
	return above[len(b)]
}
