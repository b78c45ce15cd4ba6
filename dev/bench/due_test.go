package main

import (
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"pgregory.net/rapid"
)

// Whatever the time of day and the number of CronJobs: each herd is due when it is waited for, and at no other time from the
// first create until the last run may end.
func TestHerdsAreDueWhenTheyAreWaitedForOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(rapid.Int64Range(1_767_225_600, 1_924_991_999).Draw(t, "now"), 0).UTC()
		size := rapid.SampledFrom([]int{1, 300, 1000, 5000}).Draw(t, "size")
		o := options{herds: rapid.IntRange(1, 3).Draw(t, "herds")}
		due := o.dueTimes(now, size)
		spec, err := cron.ParseStandard(schedule(due...))
		if err != nil {
			t.Fatal(err)
		}
		end := due[len(due)-1].Add(o.patience(column{}, size))
		at := now
		for _, want := range due {
			if at = spec.Next(at); !at.Equal(want) {
				t.Fatalf("due at %s, want %s", at, want)
			}
		}
		if at = spec.Next(at); at.Before(end) {
			t.Fatalf("due at %s too, before %s", at, end)
		}
	})
}
