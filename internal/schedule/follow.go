package schedule

import (
	"time"
)

// MayFollow reports whether the status may be written in the workflow task after the one
// that starts the run, which there is in any case: then nothing stands between the create of
// a Job and the start of its workflow. It may not where the object's status bounds which runs
// may be beside one another, nor for a run that somebody has asked for, who looks for it, nor
// where the status tells of an edit too.
func (p Plan) MayFollow(spec Spec) bool {
	reported := p.Next.Reported
	return p.Start != nil && !p.Start.Manual && p.Status != nil && !p.Judge && spec.Capacity() == 0 &&
		reported != nil && reported.ObservedGeneration == spec.Generation
}

// Follow returns the plan without its status, which Decide asks for when Begun has been
// called for the run. It is for plans that MayFollow.
func Follow(plan Plan) Plan {
	plan.Status = nil
	plan.Next = plan.Next.clone()
	plan.Next.HeldBack = HeldBack{Job: plan.Start.Name, Follows: true}
	return plan
}

// Begun says that the workflow of the run is started, or that there is none to wait for.
func Begun(state State, run Run) State {
	if state.HeldBack.Follows && state.HeldBack.Job == run.Name {
		state.HeldBack = HeldBack{}
	}
	return state
}

// followsFrom bounds how long a status may follow the start that it tells of.
func (s *State) followsFrom(now time.Time) {
	if s.HeldBack.Follows {
		s.HeldBack.Until = now.Add(mostHeldBack)
	}
}
