package download

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"example.com/ftpfetch/internal/retry"
)

func TestMain(m *testing.M) {
	if os.Getenv(killChild) != "" {
		os.Exit(beKilled())
	}
	retry.Wait = atOnce
	goleak.VerifyTestMain(m)
}
