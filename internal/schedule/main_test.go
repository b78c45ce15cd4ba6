package schedule_test

import (
	"flag"
	"testing"

	"ostinato.dev/ostinato/internal/testing/fixture/clocks"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { clocks.Main(m) }
