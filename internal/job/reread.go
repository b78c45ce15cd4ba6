package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// Edited takes in the Job's spec as it was read last, and returns the one to plan with
// from now on. Generations are compared for difference, since they fall when etcd is
// restored, which takes a deletion back too. What was refused may be accepted after an
// edit. One that wants fewer Pods asks for a list, and so does one that follows another which
// the State does not know: an earlier attempt at this point of the history may have created
// Pods, and nothing is remembered of it.
func (s State) Edited(from, to Spec) (State, Spec) {
	if from.Digest() == to.Digest() && from.Defaults == to.Defaults {
		return s, from
	}
	s.CreateRetry, s.StatusRetry, s.ErrorRetry = Retry{}, Retry{}, Retry{}
	s.Unanswered = true
	s.Doubtful = s.Doubtful || to.wantsFewer(from) || to.Generation != from.Generation+1
	return s, to
}

// wantsFewer reports whether Pods may have been created for the other Spec that this
// one has no use for.
func (s Spec) wantsFewer(other Spec) bool {
	return s.Suspend && !other.Suspend || s.Deleting && !other.Deleting || s.Parallelism < other.Parallelism ||
		s.Completions != nil && (other.Completions == nil || *s.Completions < *other.Completions)
}

// Reread takes in the Job as it was read after it refused a status, or Pods: it was
// edited, or somebody else wrote its status. The delay of the next status stays, even
// if the spec is new, since the refusal may have another reason.
func (s State) Reread(from, to Spec, status batchv1.JobStatus) (State, Spec) {
	retry := s.StatusRetry
	s, spec := s.Edited(from, to)
	s.StatusRetry = retry
	if s.overtakenBy(status) {
		s = s.takeStatus(status)
		s.Rebuild = true
		return s, spec
	}
	s = s.rebase(status)
	if spec.indexed() {
		s.Succeeded = s.Completed.Len()
	}
	s.Doubtful = true
	return s, spec
}

// overtakenBy reports whether somebody else has counted Pods since the last status was
// written: the built-in controller, while the workflow slept, or a plan that was
// forgotten. Which ones, the Job and its Pods tell, and the State does not.
func (s State) overtakenBy(current batchv1.JobStatus) bool {
	written := s.Status()
	return current.Succeeded > written.Succeeded || current.Failed > written.Failed || uncounted(current) > uncounted(written)
}

// rebase takes over the status that the API server has. Counters never fall.
func (s State) rebase(current batchv1.JobStatus) State {
	s.Succeeded = max(s.Succeeded, current.Succeeded)
	s.Failed = max(s.Failed, current.Failed)
	s = s.takeStatus(current)
	s.Completed = s.Completed.Union(s.WrittenCompleted)
	s.FailedIndexes = s.FailedIndexes.Union(s.WrittenFailed)
	return s
}

// takeStatus takes the parts of a status that are not counted from Pods.
func (s State) takeStatus(status batchv1.JobStatus) State {
	s.Conditions = takenConditions(status.Conditions)
	s.StartTime, s.CompletionTime = time.Time{}, time.Time{}
	if status.StartTime != nil {
		s.StartTime = status.StartTime.UTC()
	}
	if status.CompletionTime != nil {
		s.CompletionTime = status.CompletionTime.UTC()
	}
	s.Written = withoutIndexes(status)
	s.Written.Conditions = s.Conditions
	s.WrittenCompleted, s.WrittenFailed = ParseIndexes(status.CompletedIndexes), Indexes{}
	if status.FailedIndexes != nil {
		s.WrittenFailed = ParseIndexes(*status.FailedIndexes)
	}
	return s
}
