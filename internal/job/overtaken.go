package job

import batchv1 "k8s.io/api/batch/v1"

// Base is what was known of a Job's status when a Plan was made: the Pods that it counts,
// and those that it names in uncountedTerminatedPods, where Ostinato names none.
type Base struct {
	Succeeded int32 `json:"succeeded,omitempty"`
	Failed    int32 `json:"failed,omitempty"`
	Uncounted int   `json:"uncounted,omitempty"`
}

// Base returns what was known of the Job's status when the Plan was made.
func (p Plan) Base() Base {
	status := p.before.Status()
	return Base{Succeeded: status.Succeeded, Failed: status.Failed, Uncounted: uncounted(status)}
}

// ByOthers says which counters of a Job's status were written last by somebody else than
// Ostinato.
type ByOthers struct{ Succeeded, Failed bool }

// Overtaken reports whether somebody else has counted Pods of the Job since a Plan's Base:
// the built-in controller, while the Job's workflow slept. Which ones the State does not
// tell, so that the Plan may ask for Pods that are not wanted any more. A plan of Ostinato's
// that was forgotten has counted what the next one counts, and overtakes nobody.
func Overtaken(status batchv1.JobStatus, by ByOthers, base Base) bool {
	return by.Succeeded && status.Succeeded > base.Succeeded || by.Failed && status.Failed > base.Failed || uncounted(status) > base.Uncounted
}

func uncounted(status batchv1.JobStatus) int {
	if status.UncountedTerminatedPods == nil {
		return 0
	}
	return len(status.UncountedTerminatedPods.Succeeded) + len(status.UncountedTerminatedPods.Failed)
}
