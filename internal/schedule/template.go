package schedule

import (
	"time"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// Judgement is what the API server said when it was asked, without effect, for the Job of
// the next run.
type Judgement struct {
	// Generation is the CronJob's.
	Generation int64 `json:"generation"`
	// At is when it was asked.
	At time.Time `json:"at"`
	// Refusal is its message; empty if it would take the Job.
	Refusal string `json:"refusal,omitempty"`
	// Unknown is set when it was not reached, or its answer was not about the template.
	Unknown bool `json:"unknown,omitempty"`
}

// StatusJudged returns the status with a judgement in it. It is pure and idempotent; the
// status passed in is not changed.
func StatusJudged(status ostinatov1.CronJobStatus, judgement Judgement) ostinatov1.CronJobStatus {
	if judgement.Unknown {
		return status
	}
	var conditions []Condition
	for _, condition := range status.Conditions {
		conditions = append(conditions, conditionOf(condition))
	}
	status.Conditions = nil
	for _, condition := range judged(conditions, judgement) {
		status.Conditions = append(status.Conditions, condition.render())
	}
	return status
}

// template returns the condition TemplateValid; of generation 0 if there is none.
func (s *State) template() Condition { return find(s.Conditions, ostinatov1.ConditionTemplateValid) }

// toJudge reports whether the template is to be judged with what else is to be done: each
// generation is judged once.
func (s *State) toJudge(spec Spec, now time.Time) bool {
	return !spec.Deleting && s.template().ObservedGeneration != spec.Generation && !now.Before(s.Judging.Until)
}

// applyJudgement takes in what became of a plan's judgement. An answer without one comes
// from a worker of an older version, or with a refused run.
func (s *State) applyJudgement(plan Plan, judgement *Judgement, now time.Time) {
	switch {
	case !plan.Judge:
	case judgement != nil && !judgement.Unknown:
		s.Judging = Backoff{}
		s.Conditions = judged(s.Conditions, *judgement)
	case judgement != nil, s.Judging.Attempts > 0:
		s.Judging = s.Judging.Next(now)
	}
}

// generation is that of the spec that a start was planned with; 0 where nothing tells.
func (p Plan) generation() int64 {
	switch {
	case p.Status != nil:
		return p.Status.ObservedGeneration
	case p.Start != nil && p.Next.Reported != nil:
		return p.Next.Reported.ObservedGeneration
	}
	return 0
}

// proveTemplate takes the answer to a run's create for a judgement, where it says
// otherwise than the one there is, or is of a later generation.
func (s *State) proveTemplate(plan Plan, refusal string, now time.Time) {
	known, generation := s.template(), plan.generation()
	switch {
	case known.ObservedGeneration == 0, known.ObservedGeneration > generation:
		return
	case known.ObservedGeneration == generation && known.Status == (refusal == ""):
		return
	}
	s.Conditions = judged(s.Conditions, Judgement{Generation: generation, At: now, Refusal: refusal})
}
