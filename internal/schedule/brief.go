package schedule

import (
	"time"
)

const (
	// mostHeldBack bounds how long after its scheduled time a status lacks a run that has
	// started.
	mostHeldBack = 2 * time.Second
	// briefRun is how long the run before took at most, for the next to be expected to end
	// within mostHeldBack. Both ends are known by the second.
	briefRun = time.Second
	// latestHeldBack is how late a run may start whose status is held back.
	latestHeldBack = time.Second
)

// HeldBack is a run that has started and is not in the object's status yet: it is expected
// to end soon, and one write says both. Nothing is lost meanwhile: the run is in the state,
// and what starts over from the object finds the Job as it does after a write that failed:
// by its name, or since the bridge sees a Job that the status does not list.
type HeldBack struct {
	Job   string    `json:"job"`
	Until time.Time `json:"until"`
	// Follows is set where the status waits for no more than the run's workflow to be
	// started (MayFollow), which no wake is needed for.
	Follows bool `json:"follows,omitempty"`
}

// MayHoldBack reports whether the status may be written at the end of the run that the plan
// starts: where the run before was brief, and the status would tell of nothing but the start.
// It may not where the object's status bounds which runs may be beside one another, nor for
// a run that somebody has asked for, who looks for it, nor for one that is late, which may
// have started long ago, in a workflow task that is repeated now.
func (p Plan) MayHoldBack(spec Spec, now time.Time) bool {
	state := p.Next
	if p.Start == nil || now.Sub(p.Start.Scheduled) > latestHeldBack || p.Start.Manual || p.Status == nil || p.Judge || spec.Capacity() > 0 || state.Reported == nil || len(state.Ledger) == 0 {
		return false
	}
	last := state.Ledger[len(state.Ledger)-1]
	if last.Manual || last.Result != RunComplete || last.Recorded.IsZero() || last.Duration() > briefRun {
		return false
	}
	status := *p.Status
	status.NextScheduleTime = state.Reported.NextScheduleTime
	return equalStatus(status, *state.Reported)
}

// HoldBack returns the plan without its status, which Decide asks for when the run has
// ended, and otherwise two seconds after its time. It is for plans that MayHoldBack.
func HoldBack(plan Plan) Plan {
	plan.Status = nil
	plan.Next = plan.Next.clone()
	plan.Next.HeldBack = HeldBack{Job: plan.Start.Name, Until: plan.Start.Scheduled.Add(mostHeldBack)}
	return plan
}

// holdsBack reports whether the status still lacks the run that has started last. An edit
// is acknowledged at once. Anybody who may write to Temporal may have made the state up,
// within bounds.
func (s *State) holdsBack(spec Spec, now time.Time) bool {
	held := s.HeldBack
	return held.Job != "" && now.Before(held.Until) && held.Until.Sub(now) <= mostHeldBack &&
		s.Reported != nil && s.Reported.ObservedGeneration == spec.Generation && s.activeIndex(Run{Name: held.Job}) >= 0
}
