package bridge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/times"
)

// How long a run may wait for its containers before it is stuck, by what keeps them, where spec.stuckAfterSeconds says nothing.
const (
	stuckAfterFailure = 2 * time.Minute
	stuckUnscheduled  = 5 * time.Minute
	stuckSlow         = 15 * time.Minute
)

const (
	// lookAgain is when a Job is looked at again whose Pods may soon start or fail, and lookSeldom when one is that nothing changes of.
	lookAgain  = time.Minute
	lookSeldom = 10 * time.Minute
	// maxStuckWords bounds Kubernetes' words, in bytes.
	maxStuckWords = 512
)

// Reasons of the condition RunStuck beside those for which a Pod waits (job.PendingReason). Of a run that is slow nothing warns.
const (
	slowReason     = "Slow"
	notStuckReason = "NoRunStuck"
)

var stuckReasons = []string{
	event.FailedCreate, string(job.PendingImagePull), string(job.PendingConfigError), string(job.PendingUnschedulable),
	string(job.PendingLost), slowReason,
}

// hold is what keeps a Job's containers from starting.
type hold struct {
	// reason is that of the condition, words are Kubernetes' own.
	reason, words string
	// since is since when they could have started.
	since time.Time
	// uncertain: Kubernetes names no failure, and an Event may.
	uncertain bool
}

// limit is how long it may last, where the CronJob says this much, or nothing.
func (h hold) limit(after time.Duration) time.Duration {
	byReason := stuckAfterFailure
	switch h.reason {
	case slowReason:
		byReason = stuckSlow
	case string(job.PendingUnschedulable), string(job.PendingLost):
		byReason = stuckUnscheduled
	}
	return cmp.Or(after, byReason)
}

// loud reports whether a Warning and an alert tell of it.
func (h hold) loud() bool { return h.reason != slowReason }

// mayBeStuck reports whether the Job is under way without a Pod that is ready, and for long enough to be looked at.
func mayBeStuck(job *batchv1.Job, after time.Duration, now time.Time) bool {
	return !finished(job) && job.DeletionTimestamp == nil && !ptr.Deref(job.Spec.Suspend, false) && ptr.Deref(job.Status.Ready, 0) == 0 &&
		ptr.Deref(job.Spec.Parallelism, 1) > 0 && now.Sub(job.CreationTimestamp.Time) >= cmp.Or(after, stuckAfterFailure)
}

// view is what is seen of a Job that may be stuck.
type view struct {
	job  *batchv1.Job
	pods []*corev1.Pod
	// warnings are the Warning Events about a Pod that waits, or about the Job if it has none; read says that they were looked for.
	warnings []corev1.Event
	read     bool
	// after is spec.stuckAfterSeconds of its CronJob, or 0.
	after time.Duration
}

// judge returns what the Job is stuck by, nil if it is not stuck, and when to look again. ask says that Events may tell more: they are to
// be read first.
func (v view) judge(now time.Time) (held *hold, ask bool, again time.Duration) {
	held, again = heldBy(v.job, v.pods)
	if held != nil && held.uncertain {
		if !v.read && now.Sub(held.since) >= cmp.Or(v.after, stuckAfterFailure) {
			return nil, true, 0
		}
		held = held.explainedBy(v.job, v.warnings, v.after, now)
	}
	switch {
	case held == nil:
		return nil, false, again
	case now.Sub(held.since) < held.limit(v.after):
		// What is slow may fail meanwhile.
		return nil, false, min(held.since.Add(held.limit(v.after)).Sub(now), stuckAfterFailure)
	}
	// A container that starts is noticed without a look.
	return held, false, min(max(lookAgain, now.Sub(held.since)/5), lookSeldom)
}

// heldBy says what keeps the Job's containers from starting, nil for nothing, by its Pods: one container that has started is
// enough. again is when to look again.
func heldBy(job *batchv1.Job, pods []*corev1.Pod) (held *hold, again time.Duration) {
	for _, pod := range pods {
		if claim.Ended(pod) || pod.DeletionTimestamp != nil {
			continue
		}
		wait, waits := k8s.WaitOf(pod)
		switch {
		case !waits && pod.Status.Phase == corev1.PodPending:
			return nil, lookAgain
		case !waits:
			return nil, lookSeldom
		}
		found := holdOf(wait)
		// A Pod that is to be waited for longest says when the run is stuck, one that has a failure to name why.
		if held == nil {
			held = &found
			continue
		}
		since := times.Later(held.since, found.since)
		if held.uncertain && !found.uncertain || held.reason == slowReason && found.reason != slowReason {
			held = &found
		}
		held.since = since
	}
	if held != nil || len(pods) > 0 || job.Status.Active > 0 || ptr.Deref(job.Status.Terminating, 0) > 0 {
		return held, lookAgain
	}
	since := times.Later(job.CreationTimestamp.Time, ptr.Deref(job.Status.StartTime, metav1.Time{}).Time)
	return &hold{reason: slowReason, words: noPodWords, since: since, uncertain: true}, lookAgain
}

func holdOf(wait k8s.Wait) hold {
	held := hold{reason: string(wait.Reason), words: clip.Text(wait.Text(), maxStuckWords), since: wait.Since}
	if !wait.Failed && wait.Reason != job.PendingUnschedulable && wait.Reason != job.PendingLost {
		held.reason = slowReason
		// Where the Pod's sandbox, network and volumes are there, the kubelet names every failure.
		held.uncertain = wait.Reason == job.PendingConfigError
	}
	return held
}

// explainedBy is the hold with the words of the newest Warning Event about the Pod, or, where there is none, about the Job. One of the
// first moments may be over. A Job whose Pods have ended waits between two attempts, unless a create has just failed.
func (h hold) explainedBy(object *batchv1.Job, warnings []corev1.Event, after time.Duration, now time.Time) *hold {
	retries := object.Status.Failed+object.Status.Succeeded > 0
	noPod := h.words == noPodWords
	var newest *corev1.Event
	for i := range warnings {
		if newest == nil || lastSeen(&warnings[i]).After(lastSeen(newest)) {
			newest = &warnings[i]
		}
	}
	over := newest == nil || lastSeen(newest).Before(h.since.Add(cmp.Or(after, stuckAfterFailure)/4)) || now.Sub(lastSeen(newest)) > lookSeldom
	if over || noPod && newest.Reason != event.FailedCreate {
		if noPod && retries {
			return nil
		}
		return &h
	}
	h.reason = string(job.PendingConfigError)
	if noPod {
		h.reason = event.FailedCreate
	}
	if noPod && retries {
		h.since = times.Later(h.since, times.Later(newest.FirstTimestamp.Time, newest.EventTime.Time))
	}
	h.words = clip.Text(newest.Reason+": "+newest.Message, maxStuckWords)
	return &h
}

// noPodWords are said of a Job that has no Pod.
const noPodWords = "no Pod has been created"

// lastSeen is when an Event happened last.
func lastSeen(e *corev1.Event) time.Time {
	last := times.Later(e.LastTimestamp.Time, e.EventTime.Time)
	if e.Series != nil {
		last = times.Later(last, e.Series.LastObservedTime.Time)
	}
	return last
}

// stuckRun is a run of a CronJob that is stuck.
type stuckRun struct {
	name string
	hold
}

// stuckCondition returns the condition RunStuck, and whether it has to be written.
func stuckCondition(cronJob *ostinatov1.CronJob, runs []stuckRun, now time.Time) (condition metav1.Condition, write bool) {
	condition = metav1.Condition{
		Type: ostinatov1.ConditionRunStuck, Status: metav1.ConditionFalse,
		Reason: notStuckReason, Message: "No run waits for its containers to start",
	}
	if len(runs) > 0 {
		first := slices.MinFunc(runs, func(a, b stuckRun) int { return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.name, b.name)) })
		run := schedule.StuckRun{Job: first.name, Since: first.since, Words: first.words, More: len(runs) - 1}
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, first.reason, run.Message()
	}
	return renewed(cronJob, condition, now)
}

// stuckAdvice is what the Event says.
func (h hold) stuckAdvice(now time.Time) string {
	return fmt.Sprintf("No container has started for %s: %s", now.Sub(h.since).Round(time.Second), h.words)
}
