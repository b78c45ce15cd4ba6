package schedule

import (
	"fmt"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
)

// forgive leaves failures out of the count up to which the CronJob was suspended, whoever
// did that.
func (s *State) forgive(spec Spec) {
	if spec.Suspend || s.ConsecutiveFailures < s.Forgiven {
		s.Forgiven = s.ConsecutiveFailures
	}
	if !spec.Suspend {
		s.PausedWhy = ""
	}
}

// pausing reports whether as many runs have failed in a row as suspend the CronJob. Nothing
// is started then until it is suspended.
func (s *State) pausing(spec Spec) bool {
	return spec.PauseAfterFailures > 0 && !spec.Suspend && !spec.Deleting &&
		s.ConsecutiveFailures-s.Forgiven >= spec.PauseAfterFailures
}

// Paused returns the state after the CronJob was suspended since runs have failed.
func Paused(state State) State {
	s := state.clone()
	s.PausedWhy = fmt.Sprintf("%d runs in a row have failed; set spec.suspend to false to go on", s.ConsecutiveFailures)
	for i := len(s.Ledger) - 1; i >= 0; i-- {
		if entry := s.Ledger[i]; entry.Result == RunFailed {
			s.PausedWhy = bounded(fmt.Sprintf("%d runs in a row have failed, the last of them %s (%s); set spec.suspend to false to go on",
				s.ConsecutiveFailures, entry.Job, entry.ResultReason))
			break
		}
	}
	s.Outbox = append(s.Outbox, event.Warning(conditionReasonPaused, "Suspended: "+s.PausedWhy))
	return s
}

// PauseRefused returns the state after the API server has refused to have the CronJob
// suspended since runs have failed. The failures are forgiven: as many more ask for it again.
func PauseRefused(state State, why string) State {
	s := state.clone()
	s.Forgiven = s.ConsecutiveFailures
	s.Outbox = append(s.Outbox, event.Warning("FailedUpdate",
		fmt.Sprintf("Error suspending the CronJob after %d failed runs in a row: %s", s.ConsecutiveFailures, why)))
	return s
}

// MayPause reports whether the object asks to be suspended after failures, and has had so
// many, whatever a plan says.
func MayPause(object *ostinatov1.CronJob) bool {
	after := SpecOf(object).PauseAfterFailures
	return after > 0 && object.Status.ConsecutiveFailures >= after
}
