package download

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(killChild) != "" {
		os.Exit(beKilled())
	}
	goleak.VerifyTestMain(m)
}
