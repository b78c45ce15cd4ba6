package jobs

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
)

// count is how many Pods are counted: at least so many, and at most.
type count struct{ least, most int32 }

func (c count) String() string {
	if c.least == c.most {
		return fmt.Sprint(c.least)
	}
	return fmt.Sprintf("%d to %d", c.least, c.most)
}

func (c count) holds(number int32) bool { return c.least <= number && number <= c.most }

func (c *count) add(certain bool) {
	if c.most++; certain {
		c.least++
	}
}

// unsure is how long before the Job's end was decided a Pod may have ended without being counted: until PodWatch has reported it.
const unsure = 3 * time.Second

// miscounted: every Pod that ends before the end of the Job is decided is counted once, but those that were removed. Under a failure
// those that run then are counted as failed, under a success they are not.
func (o outcome) miscounted() (wrong []string) {
	var succeeded, failed count
	var certain, possible []int32
	decided, fails := o.decided()
	for _, one := range o.lives {
		fate, sure := o.fate(one, decided, fails)
		switch fate {
		case job.PodSucceeded:
			if possible = append(possible, ptr.Deref(one.fact.Index, 0)); sure {
				certain = append(certain, ptr.Deref(one.fact.Index, 0))
			}
			succeeded.add(sure)
			if !sure {
				failed.add(false)
			}
		case job.PodFailed:
			failed.add(sure)
		}
		if o.countedTwice(one) {
			failed.add(false)
		}
	}
	if ptr.Deref(o.job.Spec.CompletionMode, "") == batchv1.IndexedCompletion {
		completions := o.completions(decided)
		succeeded = count{job.Indexes{}.With(certain...).Below(completions).Len(), job.Indexes{}.With(possible...).Below(completions).Len()}
	}
	if got := o.job.Status.Succeeded; !succeeded.holds(got) {
		wrong = append(wrong, fmt.Sprintf("%d Pods are counted as succeeded, and %s have", got, succeeded))
	}
	if got := o.job.Status.Failed; !failed.holds(got) {
		wrong = append(wrong, fmt.Sprintf("%d Pods are counted as failed, and %s have", got, failed))
	}
	return wrong
}

// completions are those that the Indexed Job had when its end was decided; an edit after that changes nothing.
func (o outcome) completions(decided time.Time) int32 {
	if !decided.IsZero() {
		for _, one := range o.specs {
			if !decided.Before(one.from) && decided.Before(one.to) {
				return *one.spec.Completions
			}
		}
	}
	return *o.job.Spec.Completions
}

// decided is when the end of the Job was decided: a status says so, or Pods were deleted for it before.
func (o outcome) decided() (at time.Time, fails bool) {
	for _, one := range o.statuses {
		if fails = is(one.status, batchv1.JobFailureTarget); fails || is(one.status, batchv1.JobSuccessCriteriaMet) {
			at = one.at
			break
		}
	}
	return at, fails
}

// after is when the next status came: the end of the Job is in its status before a Pod is deleted for that, and until then one may succeed.
func (o outcome) after(decided time.Time) time.Time {
	for _, one := range o.statuses {
		if one.at.After(decided) {
			return one.at
		}
	}
	return decided
}

// fate is how a Pod is to be counted; sure is false where it may be counted in another way, or not at all.
func (o outcome) fate(one *life, decided time.Time, fails bool) (fate job.Fate, sure bool) {
	before := func(at time.Time) bool { return !at.IsZero() && at.Before(decided.Add(-unsure-o.cost)) }
	beyond := one.fact.Index != nil && *one.fact.Index >= o.fewest()
	switch {
	case o.claimed(one):
		return job.PodFailed, false
	case fails && one.removed && !one.released.Before(decided):
		// The Job's failure may have counted it before, without a delete that was taken.
		return job.PodFailed, false
	case one.removed, one.created.After(decided.Add(o.firstPods())) && !one.late && o.scenario.Hangs == 0:
		return job.PodUncounted, true
	case one.created.After(decided) && one.phase == corev1.PodSucceeded:
		return job.PodSucceeded, false
	case one.created.After(decided):
		return job.PodFailed, false
	case one.phase == corev1.PodSucceeded && before(one.ended) && (one.deleted.IsZero() || !one.deleted.Before(one.ended)):
		return job.PodSucceeded, !beyond && !o.overtaken(one)
	case one.phase == corev1.PodSucceeded && (one.ended.Before(o.after(decided)) || o.scenario.Cut > 0):
		// What one plan does not count, a later one does by how it has ended then.
		return job.PodSucceeded, false
	case one.failedItself() && before(one.ended):
		if o.action(one) == batchv1.PodFailurePolicyActionIgnore {
			return job.PodIgnored, true
		}
		return job.PodFailed, !beyond
	case before(one.ended) && !one.byOstinato && !o.hasAction(batchv1.PodFailurePolicyActionIgnore):
		// A success that is decided, and whose status is refused, gives up the Pods that others delete.
		return job.PodFailed, !beyond && (fails || !o.does("statuses"))
	case one.ended.IsZero() || one.ended.After(decided.Add(o.cost)):
		return job.PodFailed, fails && before(one.created) && !beyond && one.deleted.IsZero()
	}
	return job.PodFailed, false
}

// firstPods is how long after the end of a Job was decided the watch may still make first Pods, which it has begun with.
func (o outcome) firstPods() time.Duration {
	if o.scenario.Watched == 0 {
		return 0
	}
	return time.Second
}

// claimed reports whether a stranger may have the Pod counted as failed: it was let go to be removed, and is gone. Until the status says so,
// nothing tells which Pod is gone, nor how it ended.
func (o outcome) claimed(one *life) bool {
	return one.removed && !one.gone.IsZero() && o.does("forge", "lie")
}

// countedTwice reports whether a stranger may have the Pod counted as failed once more: it was counted while it was being deleted, and is
// gone. Until the next status says so, it is among those that terminate.
func (o outcome) countedTwice(one *life) bool {
	return !one.removed && !one.gone.IsZero() && !one.deleted.IsZero() && one.deleted.Before(one.ended) && o.does("forge")
}

// overtaken reports whether the Pod was deleted for the end of the Job and had ended since the list that says it runs. Such a
// Pod counts as running then, as upstream counts by its cache.
func (o outcome) overtaken(one *life) bool {
	return one.byOstinato && !one.deleted.Before(one.ended) && one.deleted.Sub(one.ended) <= o.scenario.Lists+unsure
}

// fewest is the least number of completions that the Job had: whether a Pod beyond it counts depends on when it is known.
func (o outcome) fewest() int32 {
	fewest := int32(1 << 30)
	for _, one := range o.specs {
		fewest = min(fewest, ptr.Deref(one.spec.Completions, fewest))
	}
	return fewest
}

// failedItself reports whether the Pod failed and nobody had deleted it before.
func (l *life) failedItself() bool {
	return l.phase == corev1.PodFailed && (l.deleted.IsZero() || l.deleted.After(l.ended))
}

// action is what podFailurePolicy says of a Pod that failed; empty where no rule matches.
func (o outcome) action(one *life) batchv1.PodFailurePolicyAction {
	if o.job.Spec.PodFailurePolicy == nil {
		return ""
	}
	for _, rule := range o.job.Spec.PodFailurePolicy.Rules {
		if len(rule.OnPodConditions) > 0 && one.disrupted {
			return rule.Action
		}
		if codes := rule.OnExitCodes; codes != nil && one.exit != 0 && slices.Contains(codes.Values, one.exit) == (codes.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn) {
			return rule.Action
		}
	}
	return ""
}

func (o outcome) hasAction(action batchv1.PodFailurePolicyAction) bool {
	return o.job.Spec.PodFailurePolicy != nil && slices.ContainsFunc(o.job.Spec.PodFailurePolicy.Rules,
		func(rule batchv1.PodFailurePolicyRule) bool { return rule.Action == action })
}

// failsUnfounded: a Job fails only for Pods that failed by themselves, or that others have deleted, and not for those that Ostinato
// has deleted.
func (o outcome) failsUnfounded() []string {
	failed := conditionOf(o.job.Status, batchv1.JobFailed)
	if failed == nil {
		return nil
	}
	decided, _ := o.decided()
	pods, matching, indexes := int32(0), int32(0), map[int32]int32{}
	over := map[int32]bool{}
	for _, one := range o.lives {
		before := func(at time.Time) bool { return !at.IsZero() && !at.After(decided) }
		if !o.claimed(one) && (one.removed || !(one.failedItself() && before(one.ended)) && (one.byOstinato || !before(one.deleted))) {
			continue
		}
		action := o.action(one)
		switch action {
		case batchv1.PodFailurePolicyActionIgnore:
			continue
		case batchv1.PodFailurePolicyActionFailJob:
			matching++
		}
		if pods++; o.countedTwice(one) {
			pods++
		}
		index := ptr.Deref(one.fact.Index, 0)
		if indexes[index]++; action == batchv1.PodFailurePolicyActionFailIndex || indexes[index] > ptr.Deref(o.job.Spec.BackoffLimitPerIndex, 0) {
			over[index] = true
		}
	}
	founded := true
	switch failed.Reason {
	case batchv1.JobReasonBackoffLimitExceeded:
		founded = pods > ptr.Deref(o.job.Spec.BackoffLimit, 6)
	case batchv1.JobReasonPodFailurePolicy:
		founded = matching > 0
	case batchv1.JobReasonMaxFailedIndexesExceeded:
		founded = int32(len(over)) > ptr.Deref(o.job.Spec.MaxFailedIndexes, 0)
	case batchv1.JobReasonFailedIndexes:
		founded = len(over) > 0
	case batchv1.JobReasonDeadlineExceeded:
		founded = o.job.Spec.ActiveDeadlineSeconds != nil
	case event.Stopped:
		founded = slices.ContainsFunc(o.specs, func(one stretch) bool { return one.stopped })
	}
	if founded {
		return nil
	}
	return []string{fmt.Sprintf("the Job fails by %s, and only %d Pods have failed by themselves or were deleted by others", failed.Reason, pods)}
}
