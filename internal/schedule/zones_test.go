package schedule_test

import (
	"archive/zip"
	"errors"
	"go/build"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// zoneDatabase is the one that comes with Go and is embedded in every worker.
var zoneDatabase = filepath.Join(build.Default.GOROOT, "lib", "time", "zoneinfo.zip")

// zoneLink is the file that this process takes for its zone database: it is read anew
// whenever a zone is loaded.
var zoneLink string

// TestMain makes the tests independent of the machine's zone database.
func TestMain(m *testing.M) {
	directory, err := os.MkdirTemp("", "zones")
	if err != nil {
		panic(err)
	}
	zoneLink = filepath.Join(directory, "zones.zip")
	if err := errors.Join(os.Symlink(zoneDatabase, zoneLink), os.Setenv("ZONEINFO", zoneLink)); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(directory)
	os.Exit(code)
}

// updateZone gives a zone the rules of another until the test ends, as a new release of
// the zone database does.
func updateZone(t *testing.T, zone, as string) {
	t.Helper()
	updated := filepath.Join(t.TempDir(), "zones.zip")
	if err := writeZone(updated, zone, as); err != nil {
		t.Fatal(err)
	}
	relink := func(target string) {
		if err := errors.Join(os.Remove(zoneLink), os.Symlink(target, zoneLink)); err != nil {
			t.Fatal(err)
		}
	}
	relink(updated)
	t.Cleanup(func() { relink(zoneDatabase) })
}

// writeZone writes a database of one zone; the others come from where Go looks next.
func writeZone(path, zone, as string) error {
	database, err := zip.OpenReader(zoneDatabase)
	if err != nil {
		return err
	}
	defer database.Close()
	rules, err := fs.ReadFile(database, as)
	if err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	archive := zip.NewWriter(file)
	// Go reads it only if it is not compressed, with its sizes ahead of the data.
	entry, err := archive.CreateRaw(&zip.FileHeader{
		Name: zone, Method: zip.Store, CRC32: crc32.ChecksumIEEE(rules),
		CompressedSize64: uint64(len(rules)), UncompressedSize64: uint64(len(rules)),
	})
	if err != nil {
		return err
	}
	if _, err := entry.Write(rules); err != nil {
		return err
	}
	return archive.Close()
}

// The twenty years that the properties are checked in.
var (
	yearsFrom = at("2015-01-01T00:00:00Z")
	yearsTo   = at("2035-01-01T00:00:00Z")
)

// tzZone is a zone, with the changes of its clocks in the twenty years.
type tzZone struct {
	name     string
	location *time.Location
	changes  []time.Time
}

// allZones lists the zones of the database.
var allZones = sync.OnceValues(func() ([]tzZone, error) {
	archive, err := zip.OpenReader(zoneDatabase)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	var zones []tzZone
	for _, file := range archive.File {
		if strings.HasSuffix(file.Name, "/") || file.Name == "Factory" {
			continue
		}
		location, err := time.LoadLocation(file.Name)
		if err != nil {
			return nil, err
		}
		zones = append(zones, tzZone{file.Name, location, changesOf(location)})
	}
	return zones, nil
})

// changesOf lists the instants at which the zone's clocks are set, found by looking at
// them every hour, then every minute.
func changesOf(location *time.Location) []time.Time {
	offset := func(at time.Time) int {
		_, seconds := at.In(location).Zone()
		return seconds
	}
	var changes []time.Time
	const step = 7 * 24 * time.Hour // Ramadan's changes are a month apart.
	for from := yearsFrom; from.Before(yearsTo); from = from.Add(step) {
		low, high := from, from.Add(step)
		if offset(low) == offset(high) {
			continue
		}
		before := offset(low)
		for high.Sub(low) > time.Minute {
			if middle := low.Add(high.Sub(low) / 2).Truncate(time.Minute); offset(middle) == before {
				low = middle
			} else {
				high = middle
			}
		}
		changes = append(changes, high)
	}
	return changes
}

func mustZones(t fataler) []tzZone {
	t.Helper()
	zones, err := allZones()
	if err != nil {
		t.Fatalf("the time zone database of the Go installation: %v", err)
	}
	return zones
}

func TestTheZoneDatabaseIsThere(t *testing.T) {
	zones := mustZones(t)
	if len(zones) < 500 {
		t.Errorf("only %d zones", len(zones))
	}
	for _, name := range []string{"Australia/Lord_Howe", "Africa/Casablanca", "Antarctica/Troll", "Pacific/Apia", "Asia/Gaza"} {
		index := slices.IndexFunc(zones, func(zone tzZone) bool { return zone.name == name })
		if index < 0 || len(zones[index].changes) == 0 {
			t.Errorf("no changes of the clocks in %s", name)
		}
	}
}
