package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

func (s State) Doubt() State   { s.Doubtful = true; return s }
func (s State) Unknown() State { s.Doubtful = true; return s }
func (s State) Rebuilt(spec Spec, status batchv1.JobStatus, list List, now time.Time) State {
	state := Reconstruct(s.Namespace, s.Name, s.UID, spec, status, list, now)
	state.Attempts = max(state.Attempts, s.Attempts)
	state.Evidence, state.EvidenceOmitted = s.Evidence, s.EvidenceOmitted
	return state
}
