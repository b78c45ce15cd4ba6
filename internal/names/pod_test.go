package names_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/names"
)

func TestPodNamesOfOneJobAreUnique(t *testing.T) {
	seen := map[string]int64{}
	for attempt := int64(1); attempt <= 50_000; attempt++ {
		name := names.Pod("hello", "7d3f", attempt)
		if other, ok := seen[name]; ok {
			t.Fatalf("attempts %d and %d are both named %s", other, attempt, name)
		}
		seen[name] = attempt
	}
}

func TestPodNameHasUpstreamsShape(t *testing.T) {
	name := names.Pod("hello-29394123", "7d3f", 1)
	suffix, ok := strings.CutPrefix(name, "hello-29394123-")
	if !ok || len(suffix) != 5 {
		t.Errorf("Pod is named %q, want the Job's name and five characters", name)
	}
	if long := names.Pod(strings.Repeat("a", 63), "7d3f", 1); len(long) != 63 {
		t.Errorf("the longest Job's Pod has a name of %d characters, want 63", len(long))
	}
}

func TestPodAttemptReadsTheAttemptBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := rapid.StringMatching(`[a-z]([-a-z0-9]{0,61}[a-z0-9])?`).Draw(t, "job")
		uid := rapid.StringMatching(`[0-9a-f]{4}-[0-9a-f]{4}`).Draw(t, "uid")
		attempt := rapid.Int64Range(1, 4_000_000).Draw(t, "attempt")
		name := names.Pod(job, uid, attempt)
		got, ok := names.PodAttempt(job, uid, name)
		if !ok || got != attempt {
			t.Fatalf("PodAttempt(%q) = %d, %v, want %d", name, got, ok, attempt)
		}
	})
}

func TestPodAttemptRejectsOtherNames(t *testing.T) {
	for _, name := range []string{"", "hello", "hello-", "hello-abcd", "hello-abcdef", "other-abcde", "hello-ABCDE", "hello-0189a"} {
		if attempt, ok := names.PodAttempt("hello", "7d3f", name); ok {
			t.Errorf("PodAttempt(%q) = %d, want no attempt", name, attempt)
		}
	}
}
