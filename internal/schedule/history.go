package schedule

import (
	"cmp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// pruneBatch bounds the history deletes of one plan.
const pruneBatch = 50

// HistoryLimit returns how many finished Jobs of a condition are kept.
func (s Spec) HistoryLimit(condition batchv1.JobConditionType) int32 {
	if condition == batchv1.JobComplete {
		return s.SuccessfulJobsHistoryLimit
	}
	return s.FailedJobsHistoryLimit
}

// prune returns the history deletes that are due (parity 1.8): of each kind the
// oldest beyond its limit, also while suspended or being deleted.
func (s *State) prune(spec Spec, now time.Time) []Delete {
	if now.Before(s.Prune.Until) {
		return nil
	}
	var deletes []Delete
	for _, condition := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		kind := slices.DeleteFunc(slices.Clone(s.Finished), func(f Finished) bool { return f.Condition != condition })
		slices.SortFunc(kind, byStart)
		for _, finished := range kind[:max(len(kind)-int(spec.HistoryLimit(condition)), 0)] {
			if len(deletes) == pruneBatch {
				return deletes
			}
			deletes = append(deletes, Delete{Name: finished.Run.Name, UID: finished.Run.UID})
		}
	}
	if len(deletes) == 0 {
		s.Prune = Backoff{}
	}
	return deletes
}

// byStart orders by start time, those without one last, then by name.
func byStart(a, b Finished) int {
	if a.StartTime.IsZero() != b.StartTime.IsZero() {
		if a.StartTime.IsZero() {
			return 1
		}
		return -1
	}
	return cmp.Or(a.StartTime.Compare(b.StartTime), strings.Compare(a.Run.Name, b.Run.Name))
}
