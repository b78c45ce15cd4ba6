package workflows_test

import (
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// statuses counts the requests that write a status.
func statuses(requests []protocol.CronJobRequest) int {
	writes := 0
	for _, request := range requests {
		if request.Status != nil {
			writes++
		}
	}
	return writes
}

// TestCronJobWritesOneStatusForABriefRun: from the second on. The first tells how long runs
// take, and what the workflow says of the CronJob when it starts is a write too.
func TestCronJobWritesOneStatusForABriefRun(t *testing.T) {
	for name, test := range map[string]struct {
		runs   []time.Duration
		writes int
	}{
		"brief":                   {[]time.Duration{time.Second}, 1 + 2 + 3},
		"of a minute":             {[]time.Duration{20 * time.Second}, 1 + 2 + 3*2},
		"brief, and one lasts":    {[]time.Duration{time.Second, time.Second, 20 * time.Second, time.Second}, 1 + 2 + 1 + 2 + 2},
		"of three seconds, first": {[]time.Duration{3 * time.Second, time.Second}, 1 + 2 + 2 + 2},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCronJobKube(t)
			k.runs = test.runs
			k.judge = func() *schedule.Judgement { return &schedule.Judgement{Generation: 1, At: k.environment.Now()} }
			k.runUntil(4*time.Minute, cron("* * * * *", allow))
			expectList(t, "runs", k.scheduled(), "00:00", "01:00", "02:00", "03:00")
			if writes := statuses(k.requests); writes != test.writes {
				t.Errorf("%d writes of the status, want %d", writes, test.writes)
			}
			if len(k.status.Active) != 0 || len(k.status.RecentRuns) != 4 || k.status.RecentRuns[0].Result != "Complete" {
				t.Errorf("status %+v", k.status)
			}
		})
	}
}
