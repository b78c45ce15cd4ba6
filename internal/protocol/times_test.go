package protocol_test

import (
	"strings"
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/times"
)

// TestTimesOfAStateAreNotAhead: a workflow would wait for them, for ever if the state is forged.
func TestTimesOfAStateAreNotAhead(t *testing.T) {
	now := time.Date(2026, time.November, 28, 15, 0, 0, 0, time.UTC)
	type input interface{ ValidateTimes(now time.Time) error }
	ofCronJob := func(set func(*schedule.State, time.Time)) func(time.Time) input {
		return func(at time.Time) input {
			var state schedule.State
			set(&state, at)
			return protocol.CronJobInput{State: &state}
		}
	}
	ofJob := func(set func(*job.State, time.Time)) func(time.Time) input {
		return func(at time.Time) input {
			var state job.State
			set(&state, at)
			return protocol.JobInput{State: &state}
		}
	}
	for name, test := range map[string]struct {
		input func(time.Time) input
		// ahead is as far as the time may be ahead of the clock.
		ahead time.Duration
		want  string
	}{
		"CronJob, created":       {ofCronJob(func(s *schedule.State, at time.Time) { s.Created = at }), time.Minute, "created"},
		"CronJob, lastScheduled": {ofCronJob(func(s *schedule.State, at time.Time) { s.LastScheduled = at }), time.Minute, "lastScheduled"},
		"CronJob, settled":       {ofCronJob(func(s *schedule.State, at time.Time) { s.Settled = at }), time.Minute, "settled"},
		"CronJob, due":           {ofCronJob(func(s *schedule.State, at time.Time) { s.Calendar.Due = at }), time.Minute, "calendar.due"},
		"CronJob, caught up":     {ofCronJob(func(s *schedule.State, at time.Time) { s.Calendar.CaughtUp = at }), time.Minute, "calendar.caughtUp"},
		"CronJob, announced":     {ofCronJob(func(s *schedule.State, at time.Time) { s.Calendar.Announced = at }), time.Minute, "calendar.announced"},
		"CronJob, waiting":       {ofCronJob(func(s *schedule.State, at time.Time) { s.Calendar.Waiting = []time.Time{now, at} }), time.Minute, "a time that waits"},
		"CronJob, missed": {ofCronJob(func(s *schedule.State, at time.Time) {
			s.Calendar.Missed = []schedule.MissedRuns{{Stretch: times.Stretch{Last: at}}}
		}), time.Minute, "a missed time"},
		"CronJob, suspended":   {ofCronJob(func(s *schedule.State, at time.Time) { s.Suspension.From = at }), time.Minute, "suspension.from"},
		"CronJob, resumed":     {ofCronJob(func(s *schedule.State, at time.Time) { s.Suspension.To = at }), time.Minute, "suspension.to"},
		"CronJob, prune":       {ofCronJob(func(s *schedule.State, at time.Time) { s.Prune.Until = at }), 10 * time.Minute, "prune.until"},
		"CronJob, status":      {ofCronJob(func(s *schedule.State, at time.Time) { s.StatusRetry.Until = at }), 10 * time.Minute, "statusRetry.until"},
		"CronJob, judgement":   {ofCronJob(func(s *schedule.State, at time.Time) { s.Judging.Until = at }), 10 * time.Minute, "judging.until"},
		"CronJob, the due run": {ofCronJob(func(s *schedule.State, at time.Time) { s.Pending = &schedule.Pending{Delay: delayed(at)} }), 10 * time.Minute, "pending.retry.until"},
		"CronJob, a trigger":   {ofCronJob(func(s *schedule.State, at time.Time) { s.Triggers = []schedule.Trigger{{Delay: delayed(at)}} }), 10 * time.Minute, "a trigger's retry.until"},
		"CronJob, a trigger's": {ofCronJob(func(s *schedule.State, at time.Time) { s.Triggers = []schedule.Trigger{{}, {At: at}} }), time.Minute, "a trigger's at"},
		"CronJob, a backfill": {ofCronJob(func(s *schedule.State, at time.Time) {
			s.Backfills = []schedule.Backfill{{Trigger: schedule.Trigger{Delay: delayed(at)}}}
		}), 10 * time.Minute, "a backfill's retry.until"},
		"Job, startTime":           {ofJob(func(s *job.State, at time.Time) { s.StartTime = at }), time.Minute, "startTime"},
		"Job, back-off":            {ofJob(func(s *job.State, at time.Time) { s.Backoff.Last = at }), time.Minute, "backoff.last"},
		"Job, an index":            {ofJob(func(s *job.State, at time.Time) { s.Indexes = job.IndexRecords{{}, {Index: 1, Last: at}} }), time.Minute, "an index's last"},
		"Job, listing":             {ofJob(func(s *job.State, at time.Time) { s.Listing = at }), time.Minute, "listing"},
		"Job, silence":             {ofJob(func(s *job.State, at time.Time) { s.Silence.Since = at }), time.Minute, "silence.since"},
		"Job, creates":             {ofJob(func(s *job.State, at time.Time) { s.CreateRetry.Until = at }), 10 * time.Minute, "createRetry.until"},
		"Job, its status":          {ofJob(func(s *job.State, at time.Time) { s.StatusRetry.Until = at }), 10 * time.Minute, "statusRetry.until"},
		"Job, an error":            {ofJob(func(s *job.State, at time.Time) { s.ErrorRetry.Until = at }), 10 * time.Minute, "errorRetry.until"},
		"Job, a Pod":               {ofJob(func(s *job.State, at time.Time) { s.Pods = []job.Pod{{}, {Retry: job.Retry{Until: at}}} }), 10 * time.Minute, "a Pod's retry.until"},
		"Job, a Pod's first sight": {ofJob(func(s *job.State, at time.Time) { s.Pods = []job.Pod{{Since: at}} }), time.Minute, "a Pod's since"},
	} {
		if err := test.input(now.Add(test.ahead)).ValidateTimes(now); err != nil {
			t.Errorf("%s: %s ahead: %v", name, test.ahead, err)
		}
		if err := test.input(now.Add(test.ahead + time.Second)).ValidateTimes(now); err == nil || !strings.Contains(err.Error(), test.want+" is ") {
			t.Errorf("%s: more than %s ahead: error %v, want %q", name, test.ahead, err, test.want)
		}
	}
	var none []input
	for _, one := range append(none, protocol.CronJobInput{}, protocol.JobInput{}) {
		if err := one.ValidateTimes(now); err != nil {
			t.Errorf("no state: %v", err)
		}
	}
	// A Job may have its Pods wait longer.
	patient := protocol.JobInput{Spec: job.Spec{BackoffCapSeconds: 3600}, State: &job.State{Pods: []job.Pod{{Retry: job.Retry{Until: now.Add(time.Hour)}}}}}
	if err := patient.ValidateTimes(now); err != nil {
		t.Error(err)
	}
}

func delayed(until time.Time) schedule.Delay {
	return schedule.Delay{Retry: schedule.Backoff{Until: until}}
}
