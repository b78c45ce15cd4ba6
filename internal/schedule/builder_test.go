package schedule_test

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/schedule"
)

// createdAt is the state of a CronJob that has not run yet.
func createdAt(created time.Time) schedule.State {
	return schedule.State{Identity: schedule.Identity{Created: created}}
}

// settledUntil returns the state with every time up to one settled.
func settledUntil(state schedule.State, settled time.Time) schedule.State {
	state.Settled = settled
	return state
}

// at reads a time of the test tables: RFC 3339, or a time of Thursday 2016-05-19,
// the day upstream's tables use.
func at(text string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "15:04:05", "15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			if layout != time.RFC3339Nano {
				t = t.AddDate(2016, 4, 18)
			}
			return t.UTC()
		}
	}
	panic("bad time in test: " + text)
}

type specOption func(*schedule.Spec)

// cronSpec builds a Spec with the API's defaults, in UTC.
func cronSpec(expression string, options ...specOption) schedule.Spec {
	spec := schedule.Spec{
		Generation:                 1,
		Schedule:                   expression,
		TimeZone:                   ptr.To("UTC"),
		ConcurrencyPolicy:          batchv1.AllowConcurrent,
		SuccessfulJobsHistoryLimit: 3,
		FailedJobsHistoryLimit:     1,
	}
	for _, option := range options {
		option(&spec)
	}
	return spec
}

func zone(name string) specOption { return func(s *schedule.Spec) { s.TimeZone = &name } }
func deadline(seconds int64) specOption {
	return func(s *schedule.Spec) { s.StartingDeadlineSeconds = &seconds }
}
func policy(p batchv1.ConcurrencyPolicy) specOption {
	return func(s *schedule.Spec) { s.ConcurrencyPolicy = p }
}
func suspended(s *schedule.Spec) { s.Suspend = true }
func deleting(s *schedule.Spec)  { s.Deleting = true }
func limits(successful, failed int32) specOption {
	return func(s *schedule.Spec) { s.SuccessfulJobsHistoryLimit, s.FailedJobsHistoryLimit = successful, failed }
}

var (
	allow   = policy(batchv1.AllowConcurrent)
	forbid  = policy(batchv1.ForbidConcurrent)
	replace = policy(batchv1.ReplaceConcurrent)
	queue   = policy(ostinatov1.QueueConcurrent)
)

func atMost(runs int32) specOption       { return func(s *schedule.Spec) { s.MaxConcurrent = runs } }
func queueLimit(runs int32) specOption   { return func(s *schedule.Spec) { s.QueueLimit = runs } }
func catchUpLimit(runs int32) specOption { return func(s *schedule.Spec) { s.CatchUpLimit = runs } }
func catchUpWindow(seconds int64) specOption {
	return func(s *schedule.Spec) { s.CatchUpWindowSeconds = &seconds }
}
func catchUp(p ostinatov1.CatchUpPolicy) specOption { return func(s *schedule.Spec) { s.CatchUp = p } }

var (
	catchUpNone = catchUp(ostinatov1.CatchUpNone)
	catchUpAll  = catchUp(ostinatov1.CatchUpAll)
)
