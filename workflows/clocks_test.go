package workflows_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/workflows"
)

// What happens where clocks differ: the table of docs/failures.md. Temporal's clock is that of the test environment.

const hourly = "0 * * * *"

// byClock is a cronJobKube of a worker whose clock is so far ahead of Temporal's.
func byClock(t *testing.T, ahead time.Duration) *cronJobKube {
	k := newCronJobKubeWith(t, client.MetricsNopHandler, workflows.Options{StartLead: schedule.MaxLead})
	k.runs = []time.Duration{time.Second}
	now := func() time.Time { return k.environment.Now().Add(ahead) }
	registerCronJobActivities(k.environment, func(ctx context.Context, request cronJobRequest) (cronJobResult, error) {
		if start := request.Start; start != nil {
			if early := start.Scheduled.Sub(now()); early > 0 {
				// A worker asks for a repetition after 3 s; the test environment repeats ten times at most.
				return cronJobResult{}, temporal.NewApplicationErrorWithOptions("the time has not come", activities.TooEarlyErrorType,
					temporal.ApplicationErrorOptions{NextRetryDelay: early})
			}
			if start.IsTooLate(k.object, now()) {
				return cronJobResult{Refused: &protocol.Refusal{Reason: ledger.TooLate, Message: "it is too late"}}, nil
			}
		}
		return k.reconcile(ctx, request)
	})
	return k
}

// late lists by how much runs started after their time, by Temporal's clock.
func (k *cronJobKube) late() []string {
	var late []string
	for _, run := range k.jobs {
		late = append(late, run.Started.Sub(run.Scheduled).String())
	}
	return late
}

// outcomes lists the ledger, oldest first, and checks that each time has one.
func (k *cronJobKube) outcomes(from time.Time, every time.Duration, count int) []string {
	k.t.Helper()
	rows := k.ledger().Rows
	outcomes, next := []string{}, from
	for n := len(rows) - 1; n >= 0; n-- {
		row := rows[n]
		if !row.Scheduled.Equal(next) {
			k.t.Errorf("the row of %s is of %s", next, row.Scheduled)
		}
		next = row.Scheduled.Add(time.Duration(row.Times()) * every)
		outcome := string(row.Outcome)
		if row.Reason != "" {
			outcome += " " + row.Reason
		}
		if row.Times() > 1 {
			outcome = fmt.Sprintf("%d %s", row.Times(), outcome)
		}
		outcomes = append(outcomes, outcome)
	}
	if got := int(next.Sub(from) / every); got != count {
		k.t.Errorf("%d times have an outcome, want %d", got, count)
	}
	return outcomes
}

// firstTime is the first of both a CronJob of each minute and one of each hour.
var firstTime = cronStart.Add(30 * time.Second)

func TestCronJobOfAWorkerWhoseClockIsBehind(t *testing.T) {
	t.Run("5s", func(t *testing.T) {
		k := byClock(t, -5*time.Second)
		k.runUntil(3*time.Minute, cron("* * * * *", allow))
		expectList(t, "runs", k.scheduled(), "00:00", "01:00", "02:00")
		expectList(t, "late", k.late(), "5s", "5s", "5s")
		expectList(t, "outcomes", k.outcomes(firstTime, time.Minute, 3), "Started", "Started", "Started")
	})
	t.Run("1m", func(t *testing.T) {
		k := byClock(t, -time.Minute)
		k.runUntil(4*time.Minute, cron("* * * * *", allow))
		expectList(t, "runs", k.scheduled(), "00:00", "01:00", "02:00")
		expectList(t, "late", k.late(), "1m0s", "1m0s", "1m0s")
		expectList(t, "outcomes", k.outcomes(firstTime, time.Minute, 3), "Started", "Started", "Started")
	})
	t.Run("1h", func(t *testing.T) {
		// While the start of 10:00 waits, the times of an hour come.
		k := byClock(t, -time.Hour)
		k.runUntil(3*time.Hour+2*time.Minute, cron("* * * * *", allow))
		expectList(t, "runs", k.scheduled(), "00:00", "00:00", "00:00")
		expectList(t, "late", k.late(), "1h0m0s", "1h0m0s", "1h0m0s")
		expectList(t, "outcomes", k.outcomes(firstTime, time.Minute, 180),
			"StartedLate Outage", "59 SkippedSuperseded Outage", "StartedLate Outage", "59 SkippedSuperseded Outage", "StartedLate Outage",
			"59 SkippedSuperseded Outage")
	})
}

func TestCronJobOfAWorkerWhoseClockIsAhead(t *testing.T) {
	for _, ahead := range []time.Duration{5 * time.Second, time.Minute} {
		t.Run(ahead.String(), func(t *testing.T) {
			k := byClock(t, ahead)
			k.runUntil(3*time.Minute, cron("* * * * *", allow))
			expectList(t, "runs", k.scheduled(), "00:00", "01:00", "02:00")
			early := (-min(ahead, schedule.MaxLead)).String()
			expectList(t, "late", k.late(), early, early, early)
			expectList(t, "outcomes", k.outcomes(firstTime, time.Minute, 3), "Started", "Started", "Started")
		})
	}
	t.Run("1h, every hour", func(t *testing.T) {
		k := byClock(t, time.Hour)
		k.runUntil(150*time.Minute, cron(hourly, allow))
		expectList(t, "runs", k.scheduled(), "00:00", "00:00", "00:00")
		expectList(t, "late", k.late(), "-6s", "-6s", "-6s")
		expectList(t, "outcomes", k.outcomes(firstTime, time.Hour, 3), "Started", "Started", "Started")
	})
	t.Run("1h, every minute", func(t *testing.T) {
		k := byClock(t, time.Hour)
		k.runUntil(3*time.Minute+40*time.Second, cron("* * * * *", allow))
		expectList(t, "runs", k.scheduled())
		// The last time has none until the next comes.
		expectList(t, "outcomes", k.outcomes(firstTime, time.Minute, 3), "3 SkippedSuperseded Outage")
	})
}
