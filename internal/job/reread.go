package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Edited takes in the Job's spec as it was read last, and returns the one to plan with. Generations may fall: a restored
// etcd also reverts a deletion. What was refused may be accepted after an edit. The Pods are listed after an edit that
// wants fewer of them or follows an unknown one: a lost workflow task may have created some.
func (s State) Edited(from, to Spec) (State, Spec) {
	if from.Digest() == to.Digest() && from.Defaults == to.Defaults {
		return s, from
	}
	s.CreateRetry, s.StatusRetry, s.ErrorRetry = Retry{}, Retry{}, Retry{}
	s.Unanswered, s.Removing = true, false
	s.NeedsList = s.NeedsList || to.wantsFewer(from) || to.Generation != from.Generation+1
	return s, to
}

// wantsFewer reports whether this Spec may have no use for Pods of the other.
func (s Spec) wantsFewer(other Spec) bool {
	return s.Suspend && !other.Suspend || s.Deleting && !other.Deleting || s.Parallelism < other.Parallelism ||
		s.Completions != nil && (other.Completions == nil || *s.Completions < *other.Completions)
}

// DecideRaise returns the Plan for an edit that a signal has told and that was not read, if all it changes is that more
// Pods are wanted, and the Plan creates some. It carries the edit's digest: nothing is done where the Job is not so.
func DecideRaise(state State, from, to Spec, now time.Time) (plan Plan, ok bool) {
	raised := from
	raised.Generation, raised.Parallelism, raised.Completions = from.Generation+1, to.Parallelism, to.Completions
	if raised.Digest() != to.Digest() || raised.Defaults != to.Defaults || to.wantsFewer(from) {
		return Plan{}, false
	}
	state, _ = state.Edited(from, to)
	plan = Decide(state, to, now)
	return plan, len(plan.Creates) > 0 && !plan.Recorded() && !plan.Bulk()
}

// Reread takes in the Job as it was read after a status or Pods were refused: it was edited, or another controller
// wrote its status. The delay of the next status stays even with a new spec, since the refusal may have another reason.
func (s State) Reread(from, to Spec, status batchv1.JobStatus) (State, Spec) {
	retry := s.StatusRetry
	s, spec := s.Edited(from, to)
	s.StatusRetry = retry
	known := s.base()
	s = s.takeStatus(status)
	if Overtaken(status, ByOthers{true, true}, known) {
		// By a lost workflow task or by another controller: only the Job and its Pods tell which.
		s.Rebuild = true
		return s, spec
	}
	// Counters never fall.
	s.Succeeded, s.Failed = max(s.Succeeded, status.Succeeded), max(s.Failed, status.Failed)
	s.Completed, s.FailedIndexes = s.Completed.Union(s.WrittenCompleted), s.FailedIndexes.Union(s.WrittenFailed)
	if spec.indexed() {
		s.Succeeded = s.Completed.Len()
	}
	s.NeedsList = true
	return s, spec
}

// takeStatus takes the parts of a status that are not counted from Pods.
func (s State) takeStatus(status batchv1.JobStatus) State {
	s.Conditions = takenConditions(status.Conditions)
	s.StartTime, s.CompletionTime = ptr.Deref(status.StartTime, metav1.Time{}).UTC(), ptr.Deref(status.CompletionTime, metav1.Time{}).UTC()
	s.Written = withoutIndexes(status)
	s.Written.Conditions = s.Conditions
	s.WrittenCompleted, s.WrittenFailed = ParseIndexes(status.CompletedIndexes), ParseIndexes(ptr.Deref(status.FailedIndexes, ""))
	return s
}

// Base is what was known of a Job's status when a Plan was made: whether it has one, the Pods that it counts, and those in
// uncountedTerminatedPods, where Ostinato names none.
type Base struct {
	HasStatus bool  `json:"hasStatus,omitempty"`
	Succeeded int32 `json:"succeeded,omitempty"`
	Failed    int32 `json:"failed,omitempty"`
	Uncounted int   `json:"uncounted,omitempty"`
}

// Base returns what was known of the Job's status when the Plan was made.
func (p Plan) Base() Base { return p.before.base() }

func (s State) base() Base {
	status := s.Status()
	return Base{HasStatus: s.Written != nil, Succeeded: status.Succeeded, Failed: status.Failed, Uncounted: uncounted(status)}
}

// ByOthers says which counters of a Job's status a writer other than Ostinato wrote last.
type ByOthers struct{ Succeeded, Failed bool }

// Overtaken reports whether the Job has a status where a Plan's Base has none, or another writer, such as the built-in
// controller, has counted Pods since, so that the Plan may ask for Pods that are no longer wanted. A lost workflow task
// has counted what the repeated one counts, and overtakes nothing.
func Overtaken(status batchv1.JobStatus, by ByOthers, base Base) bool {
	return !base.HasStatus && HasStatus(status) || by.Succeeded && status.Succeeded > base.Succeeded || by.Failed && status.Failed > base.Failed || uncounted(status) > base.Uncounted
}

func uncounted(status batchv1.JobStatus) int {
	pods := ptr.Deref(status.UncountedTerminatedPods, batchv1.UncountedTerminatedPods{})
	return len(pods.Succeeded) + len(pods.Failed)
}
