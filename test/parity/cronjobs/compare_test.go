package cronjobs

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

const differencesFile = "testdata/differences.txt"

func TestMain(m *testing.M) {
	// A CronJob without a time zone is in the worker's, which is to be upstream's.
	time.Local = time.UTC
	os.Exit(m.Run())
}

// The size of upstream's own table of syncs (cronjob_controllerv2_test.go) is 74.
func TestThereAreAsManyScenariosAsUpstreamHasSyncs(t *testing.T) {
	names := map[string]bool{}
	for _, s := range scenarios {
		if names[s.Name] {
			t.Errorf("two scenarios are called %q", s.Name)
		}
		names[s.Name] = true
	}
	if len(names) < 74 {
		t.Errorf("%d scenarios", len(names))
	}
}

// Whatever Ostinato does in another way is allowed for a reason, and is the same as ever.
func TestOstinatoDoesWhatUpstreamDoes(t *testing.T) {
	upstream := readSections(t, upstreamFile)
	found, used := sections{}, map[int]bool{}
	for _, s := range scenarios {
		want, ok := upstream[s.Name]
		if !ok {
			t.Errorf("nobody has recorded what upstream does in %q; make upstream-cases does", s.Name)
			continue
		}
		got := timeline(s.firstStatus(), playOurs(t, s))
		for _, one := range differing(want, got) {
			reason := reasonOf(s.Name, one)
			if reason < 0 {
				t.Errorf("%s: %s\nupstream:\n%s\nOstinato:\n%s", s.Name, one, list(want), list(got))
				continue
			}
			used[reason] = true
			found[s.Name] = append(found[s.Name], fmt.Sprintf("%s  (%s)", one, allowed[reason].name))
		}
	}
	for i, one := range allowed {
		if !used[i] {
			t.Errorf("difference %q is allowed and does not occur", one.name)
		}
	}
	if *update {
		writeSections(t, differencesFile, found)
		return
	}
	recorded := readSections(t, differencesFile)
	for _, name := range slices.Sorted(maps.Keys(merged(found, recorded))) {
		if !slices.Equal(found[name], recorded[name]) {
			t.Errorf("%s: the differences are\n%s\nrecorded are\n%s\nmake upstream-cases writes them anew", name, list(found[name]), list(recorded[name]))
		}
	}
}

// Each reason is a row of the page that tells users.
func TestAllowedDifferencesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/compat.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range allowed {
		if !strings.Contains(string(page), one.row) {
			t.Errorf("docs/compat.md has no %q, for difference %q", one.row, one.name)
		}
	}
}

// differing lists what one of the two has and the other has not: - upstream, + Ostinato.
func differing(upstream, ours []string) []string {
	var lines []string
	for _, text := range upstream {
		if !slices.Contains(ours, text) {
			lines = append(lines, "- "+text)
		}
	}
	for _, text := range ours {
		if !slices.Contains(upstream, text) {
			lines = append(lines, "+ "+text)
		}
	}
	// By time, upstream's first.
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(stamp(a), stamp(b)) })
	return lines
}

func stamp(text string) string { return strings.Fields(text)[1] }

func reasonOf(scenario, line string) int {
	return slices.IndexFunc(allowed, func(d difference) bool { return d.scenarios.MatchString(scenario) && d.lines.MatchString(line) })
}

func merged(a, b sections) sections {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func list(lines []string) string {
	if len(lines) == 0 {
		return "  nothing"
	}
	return "  " + strings.Join(lines, "\n  ")
}
