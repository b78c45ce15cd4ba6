package schedule

import (
	"time"
)

// maxFollowing bounds how long after its start a run may be missing in the object's status.
const maxFollowing = 2 * time.Second

// Following is a run that has started and is not in the object's status yet, which is written
// once the run's workflow is started. Nothing is lost meanwhile: the run is in the state, and
// what starts over from the object finds the Job as it does after a write that failed: by its
// name, or since the bridge sees a Job that the status does not list.
type Following struct {
	Job   string    `json:"job"`
	Until time.Time `json:"until"`
}

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
	plan.Next.Following = Following{Job: plan.Start.Name}
	return plan
}

// Begun says that the workflow of the run is started, or that there is none to wait for.
func Begun(state State, run Run) State {
	if state.Following.Job == run.Name {
		state.Following = Following{}
	}
	return state
}

// followsFrom bounds how long a status may follow the start that it tells of.
func (s *State) followsFrom(now time.Time) {
	if s.Following.Job != "" {
		s.Following.Until = now.Add(maxFollowing)
	}
}

// follows reports whether the status still lacks the run that has started last. An edit
// is acknowledged at once. Anybody who may write to Temporal may have made the state up,
// within bounds.
func (s *State) follows(spec Spec, now time.Time) bool {
	following := s.Following
	return following.Job != "" && now.Before(following.Until) && following.Until.Sub(now) <= maxFollowing &&
		s.Reported != nil && s.Reported.ObservedGeneration == spec.Generation && s.activeIndex(Run{Name: following.Job}) >= 0
}
