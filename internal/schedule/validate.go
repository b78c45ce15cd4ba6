package schedule

import (
	"fmt"
)

const (
	// maxText bounds schedules, time zones, names and notes, in bytes.
	maxText = 128 << 10
	// maxRuns bounds the lists of runs of a State.
	maxRuns = 15_000
	// mostCarried bounds those that are carried over: all are one value of 4 MiB at most (package packed).
	mostCarried = 3_500
)

// Bounded returns the state with its lists cut to what can be carried over.
func (s State) Bounded() State {
	if len(s.Active) > mostCarried {
		// The status, which names them too, is rewritten.
		s.Reported = nil
	}
	s.Active = newest(s.Active)
	s.Finished = newest(s.Finished)
	s.Sighted = newest(s.Sighted)
	s.Outbox = newest(s.Outbox)
	return s
}

func newest[T any](list []T) []T { return list[max(len(list)-mostCarried, 0):] }

// Validate reports whether the State can be one that was carried over.
func (s State) Validate() error {
	for _, field := range []struct {
		name         string
		count, bound int
	}{
		{"active", len(s.Active), maxRuns},
		{"finished", len(s.Finished), maxRuns},
		{"ledger", len(s.Ledger), maxRuns},
		{"sighted", len(s.Sighted), maxRuns},
		{"missed", len(s.Calendar.Missed), maxRuns},
		{"outbox", len(s.Outbox), maxRuns},
		{"conditions", len(s.Conditions), maxRuns},
		{"upcoming", len(s.Calendar.Upcoming), maxRuns},
		{"triggers", len(s.Triggers), maxTriggers},
		{"backfills", len(s.Backfills), maxBackfills},
		{"former schedules", len(s.Calendar.Former), maxFormer},
		{"waiting", len(s.Calendar.Waiting), mostInState},
	} {
		if field.count > field.bound {
			return fmt.Errorf("%s: %d, want %d at most", field.name, field.count, field.bound)
		}
	}
	for _, backfill := range s.Backfills {
		if err := backfill.validate(); err != nil {
			return err
		}
	}
	if s.Prune.Attempts < 0 || s.Judging.Attempts < 0 || s.Pending != nil && s.Pending.Retry.Attempts < 0 {
		return fmt.Errorf("a back-off has a negative number of attempts")
	}
	for _, trigger := range s.Triggers {
		if trigger.Retry.Attempts < 0 {
			return fmt.Errorf("a trigger has a negative number of attempts")
		}
		if mistake := OverlapMistake(trigger.Overlap); mistake != "" {
			return fmt.Errorf("a trigger's %s", mistake)
		}
	}
	return nil
}
