package job

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/times"
)

// Counted is a Pod that a status counts, and how: its Fate. An Uncounted one is to be released, and is in no counter. An Undecided one
// counts as terminating.
type Counted struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
	Fate Fate   `json:"fate"`
}

// Shown reports whether a Pod of the Job is as a status counts it. deleted says that the same request deletes it, since it has not
// started. Once a verdict of failure is on the Job each Pod counts as failed that it is to end.
func (c Counted) Shown(object *batchv1.Job, fact PodFact, deleted bool) bool {
	_, failing := FailureReason(object.Status)
	failing = failing || deleted
	ignored := handle(object.Spec.PodFailurePolicy, "", Pod{PodFact: fact}).action == batchv1.PodFailurePolicyActionIgnore
	switch {
	case fact.Disowned:
		return false
	case c.Fate == Undecided:
		return failing || fact.Ended() || fact.Deleting || fact.Removed
	case c.Fate == PodUncounted:
		judge := &pass{spec: SpecOf(object)}
		return failing || !fact.Tracked || !judge.countable(Pod{PodFact: fact})
	case fact.Removed:
		return false
	case c.Fate == PodSucceeded:
		return fact.Phase == corev1.PodSucceeded
	case fact.Phase == corev1.PodFailed:
		return failing || (c.Fate == PodIgnored) == ignored
	}
	// One that is being deleted was counted before it ended, however it ends. One that succeeded before its delete has succeeded.
	return fact.Deleting || failing && fact.Phase != corev1.PodSucceeded
}

// Known is how many Pods the Job's status says that there are. No more can have gone unseen since.
func Known(status batchv1.JobStatus) int {
	return int(status.Active) + int(ptr.Deref(status.Terminating, 0))
}

// SaysMore reports whether a new status names more Pods than the Job's present status and the request's creates explain. That number bounds
// how many Pods may later count as gone.
func SaysMore(object *batchv1.Job, status batchv1.JobStatus, creates int) bool {
	known := Known(object.Status)
	if !HasStatus(object.Status) {
		known = min(MaxFirst, SpecOf(object).most(object.Status))
	}
	return Known(status) > known+creates
}

// SaysNone reports whether a new status ends the Job although the Job's present status names Pods that were not shown to have ended, or
// ends it as Failed: a stranger may have had a Pod made while that status was refused.
func SaysNone(object *batchv1.Job, status batchv1.JobStatus, counted []Counted, seen map[string]PodFact) bool {
	over := []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed}
	if firstTrue(status.Conditions, over...) == nil || firstTrue(object.Status.Conditions, over...) != nil {
		return false
	}
	known := Known(object.Status)
	for _, pod := range counted {
		if fact, there := seen[pod.UID]; !there || fact.Ended() {
			known--
		}
	}
	return known > 0 || firstTrue(status.Conditions, batchv1.JobFailed) != nil
}

// Over reports whether the Job takes in no counts any more, so that its Pods may be released as they are: it is being deleted, or a
// verdict is written or is to be.
func Over(object *batchv1.Job, status *batchv1.JobStatus) bool {
	return object.DeletionTimestamp != nil || Decided(object) || status != nil && firstTrue(status.Conditions, verdicts...) != nil
}

var verdicts = []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget}

// Decided reports whether the Job's status has a verdict, which nothing takes back.
func Decided(object *batchv1.Job) bool {
	return firstTrue(object.Status.Conditions, verdicts...) != nil
}

// FailureReason returns the reason of a status' verdict of failure; fails is false if it has none.
func FailureReason(status batchv1.JobStatus) (reason string, fails bool) {
	condition := firstTrue(status.Conditions, batchv1.JobFailureTarget, batchv1.JobFailed)
	if condition == nil {
		return "", false
	}
	return condition.Reason, true
}

// Unfounded says what a status counts beside the Job's own, the Pods of uncountedTerminatedPods and those that were shown, or that
// it ends the Job for what is not so; empty if there is nothing. The index of a Pod that is gone is not known.
func Unfounded(object *batchv1.Job, status batchv1.JobStatus, counted []Counted, seen map[string]PodFact) string {
	before, spec := object.Status, SpecOf(object)
	uncounted := ptr.Deref(before.UncountedTerminatedPods, batchv1.UncountedTerminatedPods{})
	succeeded, failed := int(before.Succeeded)+len(uncounted.Succeeded), int(before.Failed)+len(uncounted.Failed)
	completed, failedIndexes := ParseIndexes(before.CompletedIndexes), ParseIndexes(ptr.Deref(before.FailedIndexes, ""))
	isCompleted, areFailed := ParseIndexes(status.CompletedIndexes), ParseIndexes(ptr.Deref(status.FailedIndexes, ""))
	indexless, left := false, false
	for _, pod := range counted {
		index := seen[pod.UID].Index
		switch pod.Fate {
		case PodSucceeded:
			succeeded++
			completed = completed.With(ptr.Deref(index, -1))
			// Such a Pod is to be released, and its index would be done again.
			wanted := spec.indexed() && index != nil && *index < ptr.Deref(spec.Completions, 0)
			left = left || wanted && !isCompleted.Contains(*index) && !areFailed.Contains(*index)
		case PodFailed:
			failed++
			indexless = indexless || index == nil
			if _, fails := spec.failsIndex(Pod{PodFact: seen[pod.UID]}); fails {
				failedIndexes = failedIndexes.With(ptr.Deref(index, -1))
			}
		}
	}
	if spec.indexed() {
		succeeded = max(int(before.Succeeded), int(isCompleted.Len()))
	}
	switch {
	case int(status.Succeeded) > succeeded:
		return fmt.Sprintf("%d Pods succeeded, and %d are counted", succeeded, status.Succeeded)
	case int(status.Failed) > failed:
		return fmt.Sprintf("%d Pods failed, and %d are counted", failed, status.Failed)
	case spec.indexed() && (lacks(isCompleted, before.CompletedIndexes, spec) || lacks(areFailed, ptr.Deref(before.FailedIndexes, ""), spec)):
		return "an index is over no more"
	case !isCompleted.Union(completed).Equal(completed):
		return "an index is completed without a Pod"
	case left:
		return "an index is not completed by its Pod"
	case !indexless && !areFailed.Union(failedIndexes).Equal(failedIndexes):
		return "an index failed without a Pod"
	}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobFailed} {
		if failed := firstTrue(status.Conditions, kind); failed != nil {
			if why := Misquoted(object, Verdict{kind, failed.Reason, failed.Message}); why != "" {
				return why
			}
		}
	}
	success := firstTrue(status.Conditions, batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)
	if success == nil {
		return ""
	}
	return UnfoundedVerdict(object, status, success.Reason, nil, time.Time{})
}

// lacks reports whether indexes lack some of the Job's own, which it names.
func lacks(indexes Indexes, own string, spec Spec) bool {
	return !indexes.Union(ParseIndexes(own).Below(ptr.Deref(spec.Completions, 0))).Equal(indexes)
}

// Forgotten says what a status leaves out of the Job's own and of those that were shown: a Pod with the finalizer that the Job does not
// note is in no counter yet. Empty if there is nothing. Such a status follows from a State that a restore of Temporal has brought back,
// which counts other Pods than the Job does, and as many.
func Forgotten(object *batchv1.Job, status batchv1.JobStatus, counted []Counted, seen map[string]PodFact) string {
	before := object.Status
	succeeded, failed := before.Succeeded, before.Failed
	for _, pod := range counted {
		switch {
		case !seen[pod.UID].Tracked:
		case pod.Fate == PodFailed:
			failed++
		case pod.Fate == PodSucceeded && !SpecOf(object).indexed():
			succeeded++
		}
	}
	switch {
	case failed > before.Failed && status.Failed < failed:
		return fmt.Sprintf("%d Pods failed, and only %d are counted", failed, status.Failed)
	case succeeded > before.Succeeded && status.Succeeded < succeeded:
		return fmt.Sprintf("%d Pods succeeded, and only %d are counted", succeeded, status.Succeeded)
	}
	return ""
}

// EndsQueue reports whether a status ends a Job that names no completions. It may while none of its Pods runs.
func EndsQueue(object *batchv1.Job, status batchv1.JobStatus) bool {
	success := []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete}
	return object.Spec.Completions == nil && firstTrue(status.Conditions, success...) != nil && firstTrue(object.Status.Conditions, success...) == nil
}

// UnfoundedVerdict says why the Job does not end for a reason; empty if it does, or was said to before. pods are its Pods as a list
// has them, by which a failure is judged: that is before they are deleted for it, since then the Job may be edited.
func UnfoundedVerdict(object *batchv1.Job, status batchv1.JobStatus, reason string, pods []PodFact, now time.Time) string {
	if Decided(object) {
		return ""
	}
	judge := &pass{spec: SpecOf(object), now: now, state: State{
		Failed: status.Failed, Completed: ParseIndexes(status.CompletedIndexes), FailedIndexes: ParseIndexes(ptr.Deref(status.FailedIndexes, "")),
		StartTime: startTime(object, status, now),
	}}
	for _, fact := range pods {
		if !fact.Removed {
			judge.judge(Pod{PodFact: fact})
		}
		// An earlier attempt may have ended it.
		fact.Phase = corev1.PodRunning
		judge.state.Pods = append(judge.state.Pods, Pod{PodFact: fact})
	}
	_, succeeds := MatchedRule(object, judge.state.Completed)
	founded := reason == batchv1.JobReasonSuccessPolicy && succeeds ||
		reason == batchv1.JobReasonCompletionsReached && status.Succeeded >= ptr.Deref(object.Spec.Completions, 1) ||
		reason == batchv1.JobReasonPodFailurePolicy && judge.failJob != ""
	for _, limit := range limits {
		founded = founded || reason == limit.reason && limit.exceeded(judge)
	}
	if founded {
		return ""
	}
	return fmt.Sprintf("%d succeeded and %d failed Pods are no reason for %s", status.Succeeded, status.Failed, reason)
}

// StartsEarly reports whether a status says that the Job has started much earlier than now, where it has not: by its start its deadline is
// judged.
func StartsEarly(object *batchv1.Job, status batchv1.JobStatus, now time.Time) bool {
	own := object.Status.StartTime
	return status.StartTime != nil && !status.StartTime.Equal(own) && status.StartTime.Time.Before(now.Add(-startsWithin))
}

// startsWithin is longer than the status with the start may be repeated.
const startsWithin = 15 * time.Minute

// startTime is when the Job started by its own status, or by another one if it has none yet: not before it was made, nor long ago.
func startTime(object *batchv1.Job, status batchv1.JobStatus, now time.Time) time.Time {
	if object.Status.StartTime != nil || status.StartTime == nil {
		return ptr.Deref(object.Status.StartTime, metav1.Time{}).Time
	}
	return times.Later(times.Later(status.StartTime.Time, object.CreationTimestamp.Time), now.Add(-startsWithin))
}

// refuted returns the State after the activity has found that the Plan rests on what is not so: nothing was carried out, and no verdict
// stands. What was heard of the Pods is dropped, and a list tells. A Pod that was counted in an earlier plan, a count that nothing
// explains, and a verdict that had its reason when the Pods were ended for it have the State made anew: the Job may have been edited since.
func (p Plan) refuted(report Report, now time.Time) State {
	state := p.before
	if p.Terminate != "" {
		state.Verdict = Verdict{}
	}
	state.Judged = Judged{}
	if why := report.Unfounded + report.NoReason; why != "" {
		state.ErrorRetry = state.ErrorRetry.refused(retryCap, why, now)
	}
	state.Rebuild = state.Rebuild || report.Unfounded != "" || report.NoReason != "" && p.Terminate == ""
	state.NeedsList, state.Doubt = state.NeedsList || report.NoReason != "", true
	state.Pods = slices.Clone(state.Pods)
	unseen, dropped := sets.New(report.Unseen...), false
	for i := range state.Pods {
		pod := &state.Pods[i]
		seen := !unseen.Has(pod.UID)
		switch {
		case seen && report.NoReason == "":
		case pod.Fate != Undecided:
			state.Rebuild = state.Rebuild || !seen
		case !pod.active(), pod.PendingFailed, pod.Restarts > 0:
			*pod, dropped = pod.unheard(), true
			pod.Doubted = !seen
		}
	}
	if state.Rebuild && state.ErrorRetry == (Retry{}) && now.Sub(state.Listing) < retryBase {
		// The State is new, and may plan the same again.
		state.ErrorRetry = state.ErrorRetry.refused(retryCap, "a status counts what is not so", now)
	}
	if !dropped && !state.Rebuild && report.CreateRefused != "" {
		state.CreateRetry = state.CreateRetry.refused(retryCap, report.CreateRefused, now)
	}
	return state
}

// unheard returns the Pod as it is known without a signal.
func (p Pod) unheard() Pod {
	return Pod{Asked: p.Asked, Since: p.Since, PodFact: PodFact{
		Name: p.Name, UID: p.UID, Index: p.Index, Attempt: p.Attempt, Failures: p.Failures, Ignored: p.Ignored,
		Tracked: p.Tracked, Removed: p.Removed, Disowned: p.Disowned,
	}}
}
