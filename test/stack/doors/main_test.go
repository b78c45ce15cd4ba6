//go:build linux

package doors

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv(strangerVariable) == "" {
		os.Exit(m.Run())
	}
	if err := beStranger(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
