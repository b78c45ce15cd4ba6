package times_test

import (
	"slices"
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/testing/fixture/clocks"
)

func TestMain(m *testing.M) { clocks.Main(m) }

// at reads a time of the test tables: RFC 3339.
func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t.UTC()
}

func TestTheZoneDatabaseIsThere(t *testing.T) {
	zones := clocks.Zones(t)
	if len(zones) < 500 {
		t.Errorf("only %d zones", len(zones))
	}
	for _, name := range []string{"Australia/Lord_Howe", "Africa/Casablanca", "Antarctica/Troll", "Pacific/Apia", "Asia/Gaza"} {
		index := slices.IndexFunc(zones, func(zone clocks.Zone) bool { return zone.Name == name })
		if index < 0 || len(zones[index].Changes) == 0 {
			t.Errorf("no changes of the clocks in %s", name)
		}
	}
}
