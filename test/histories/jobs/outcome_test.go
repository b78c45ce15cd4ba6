package jobs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
)

// outcome is what has become of a history.
type outcome struct {
	recording
	scenario scenario
	// effects is how many writes there were, failure why the history has not come to its end, cost what a crash costs in it.
	effects int
	failure string
	cost    time.Duration
	crashed bool
	// early says that the worker was lost before the workflow was started.
	early bool
	begin time.Time
	// started is when the workflow was started: for a Job that is not new when the watch has made its Pods, by the bridge, after a minute.
	started time.Time
	job     *batchv1.Job
	left    []corev1.Pod
}

// Repeatable is false after a crash before the workflow was started, since the watch that takes over makes no first Pods, and where a
// stranger asks at a time for what depends on how the Pods are then. A deadline may pass between two of the parts into which a plan is cut.
func (o outcome) Repeatable() bool {
	return !o.early && !o.faulty() && !o.does("forge") && !(o.scenario.Cut > 0 && o.job.Spec.ActiveDeadlineSeconds != nil)
}

// faulty reports whether writes go wrong or take long, so that a Pod may be created when it is not wanted any more.
func (o outcome) faulty() bool {
	return o.scenario.Faults.OneIn > 0 || o.scenario.Faults.Many > 0 || o.scenario.Hangs > 0
}
func (o outcome) Effects() int    { return o.effects }
func (o outcome) Failure() string { return o.failure }

// Text has no times: a task that is repeated may meet the status that its second plan has written with its first, and is refused for a
// second. It does not say how a Pod ended that Ostinato had deleted, since a write more delays the delete by a millisecond. It is empty
// where lists take time: a crash costs that of the list that is repeated. Where plans are cut it names no Pods: one that is repeated after a
// list asks for other numbers than its second half would have.
func (o outcome) Text() string {
	if o.scenario.Lists > 0 {
		return ""
	}
	var lines []string
	for _, one := range o.lives {
		end := fmt.Sprintf("%s %d", one.phase, one.exit)
		if one.byOstinato && !one.deleted.After(one.ended) {
			end = "ends"
		}
		name := one.fact.UID
		if o.scenario.Cut > 0 {
			name = fmt.Sprintf("of index %d", ptr.Deref(one.fact.Index, -1))
		}
		lines = append(lines, fmt.Sprintf("Pod %s %s, deleted %t, removed %t, kept %t", name, end, !one.deleted.IsZero(), one.removed, one.released.IsZero()))
	}
	slices.Sort(lines)
	status := o.job.Status
	return fmt.Sprintf("%s\nsucceeded %d %s failed %d %s %s\n", strings.Join(lines, "\n"), status.Succeeded, status.CompletedIndexes,
		status.Failed, ptr.Deref(status.FailedIndexes, ""), strings.Join(conditions(status), ", "))
}

func (o outcome) Story() string { return strings.Join(o.lines, "\n") }

func (o outcome) Mistakes() []string {
	if o.failure != "" {
		return []string{o.failure}
	}
	wrong := slices.Concat(o.unended(), o.miscounted(), o.verdictsTakenBack(), o.failsUnfounded(), o.tooOften(), o.leftOver(), o.runUncounted(), o.unmet())
	if !o.faulty() {
		wrong = slices.Concat(wrong, o.tooMany(), o.doneTwice(), o.unwanted(), o.runsThoughSuspended(), o.runsThoughStopped(), o.runsOn(), o.invalid())
	}
	return wrong
}

func clock(at time.Time) string { return at.Format(time.TimeOnly) }

// unended: the Job ends, Complete or Failed, and its workflow with it.
func (o outcome) unended() []string {
	if finished(o.job.Status) {
		return nil
	}
	return []string{"the workflow has ended and the Job has not"}
}

// leftOver: no Pod keeps the tracking finalizer, and none runs.
func (o outcome) leftOver() (wrong []string) {
	for _, pod := range o.left {
		switch {
		case claim.Tracked(&pod):
			wrong = append(wrong, fmt.Sprintf("%s has kept its finalizer", pod.Name))
		case !claim.Ended(&pod):
			wrong = append(wrong, fmt.Sprintf("%s runs on", pod.Name))
		}
	}
	return wrong
}

// tooMany: no Pod is created of an index that has one which runs, nor more than parallelism in all, or than are yet to succeed. Where
// the replacement waits for the end of what is replaced, one that is being deleted runs too.
func (o outcome) tooMany() (wrong []string) {
	for _, one := range o.creates {
		spec, active := job.SpecOf(one.job), int32(1)
		for _, pod := range one.beside {
			fact := k8s.PodFact(&pod)
			if !fact.Deleting || spec.PodReplacementPolicy == batchv1.Failed {
				active++
			}
			if one.pod.Index != nil && *fact.Index == *one.pod.Index && (!fact.Deleting || spec.PodReplacementPolicy == batchv1.Failed && !fact.Removed) {
				wrong = append(wrong, fmt.Sprintf("%s was created at %s beside %s", one.pod.Name, clock(one.at), pod.Name))
			}
		}
		most := spec.Parallelism
		if spec.Completions != nil && one.pod.Index == nil {
			most = min(most, *spec.Completions-one.job.Status.Succeeded)
		}
		if active > most && !o.justEdited(one.at) {
			wrong = append(wrong, fmt.Sprintf("%s was created at %s as one of %d, %d are to run", one.pod.Name, clock(one.at), active, most))
		}
	}
	return wrong
}

// doneTwice: no more Pods succeed than are to, in all or of an index, unless some were deleted meanwhile or the number has changed.
func (o outcome) doneTwice() (wrong []string) {
	completions := o.job.Spec.Completions
	if completions == nil || slices.ContainsFunc(o.specs, func(one stretch) bool { return *one.spec.Completions != *completions }) {
		return nil
	}
	succeeded := map[int32]int32{}
	for _, one := range o.lives {
		if one.phase == corev1.PodSucceeded && one.deleted.IsZero() && !one.removed && !one.late {
			succeeded[ptr.Deref(one.fact.Index, -1)]++
		}
	}
	for index, times := range succeeded {
		if most := *completions; times > most || index >= 0 && times > 1 {
			wrong = append(wrong, fmt.Sprintf("%d Pods have succeeded of %d, of index %d", times, most, index))
		}
	}
	return wrong
}

// justEdited reports whether the Job was edited so shortly before that an attempt has read it as it was.
func (o outcome) justEdited(at time.Time) bool {
	return slices.ContainsFunc(o.specs, func(one stretch) bool { return one.from.Before(at) && at.Before(one.from.Add(time.Second)) })
}

// unwanted: no Pod is created of a Job that is suspended or stopped, or whose end was written.
func (o outcome) unwanted() (wrong []string) {
	for _, one := range o.creates {
		status := one.job.Status
		if ptr.Deref(one.job.Spec.Suspend, false) && !o.justEdited(one.at) {
			wrong = append(wrong, fmt.Sprintf("%s was created at %s of a suspended Job", one.pod.Name, clock(one.at)))
		}
		if job.StopOf(one.job.Annotations) != nil && !o.justEdited(one.at) {
			wrong = append(wrong, fmt.Sprintf("%s was created at %s of a stopped Job", one.pod.Name, clock(one.at)))
		}
		if finished(status) || is(status, batchv1.JobFailureTarget) || is(status, batchv1.JobSuccessCriteriaMet) {
			wrong = append(wrong, fmt.Sprintf("%s was created at %s of a Job that has ended", one.pod.Name, clock(one.at)))
		}
	}
	return wrong
}

// verdictsTakenBack: what a status has said of the Job's end stays, and so does the reason.
func (o outcome) verdictsTakenBack() (wrong []string) {
	first, at := "", time.Time{}
	for _, one := range o.statuses {
		for kind, interim := range map[batchv1.JobConditionType]bool{
			batchv1.JobSuccessCriteriaMet: true, batchv1.JobComplete: false, batchv1.JobFailureTarget: true, batchv1.JobFailed: false,
		} {
			condition := conditionOf(one.status, kind)
			if condition == nil {
				continue
			}
			outcome := "succeeds"
			if kind == batchv1.JobFailed || kind == batchv1.JobFailureTarget {
				outcome = "fails"
			}
			said := fmt.Sprintf("%s by %s", outcome, condition.Reason)
			if interim && first == "" {
				first, at = said, one.at
			}
			if first != said && first != "" {
				wrong = append(wrong, fmt.Sprintf("the Job %s since %s, and %s at %s", first, clock(at), said, clock(one.at)))
			}
		}
	}
	return wrong
}

// tooOften: no index has more Pods that fail by themselves than its limit allows.
func (o outcome) tooOften() (wrong []string) {
	limit := o.job.Spec.BackoffLimitPerIndex
	if limit == nil {
		return nil
	}
	failed := map[int32]int32{}
	for _, one := range o.lives {
		if one.failedItself() && !one.removed && o.action(one) != batchv1.PodFailurePolicyActionIgnore {
			failed[*one.fact.Index]++
		}
	}
	for index, times := range failed {
		if times > *limit+1 {
			wrong = append(wrong, fmt.Sprintf("index %d had %d Pods that failed, backoffLimitPerIndex is %d", index, times, *limit))
		}
	}
	return wrong
}

// suspensionTakes is how long a suspended or stopped Job may have Pods.
const suspensionTakes = 10 * time.Second

// runsThoughSuspended: the Pods of a suspended Job are deleted soon, unless the API server refuses that, or one lands.
func (o outcome) runsThoughSuspended() []string {
	return o.runsThough("suspended", func(one stretch) bool { return ptr.Deref(one.spec.Suspend, false) })
}

// runsThoughStopped: so are those of a stopped Job.
func (o outcome) runsThoughStopped() []string {
	return o.runsThough("stopped", func(one stretch) bool { return one.stopped })
}

func (o outcome) runsThough(what string, is func(stretch) bool) (wrong []string) {
	if o.does("outage", "rights", "statuses", "webhook", "protect", "late") || slices.ContainsFunc(o.scenario.Steps, func(s step) bool { return s.Heard != 0 }) {
		return nil
	}
	takes := suspensionTakes + 2*o.cost
	if o.does("deaf") {
		// An attempt that Temporal does not hear writes nothing.
		takes += deafFor
	}
	for _, one := range o.specs {
		by := one.from.Add(takes)
		if !is(one) || !one.to.After(by) || one.from.After(o.calm()) {
			continue
		}
		if running := o.active(by); running > 0 {
			wrong = append(wrong, fmt.Sprintf("the Job is %s at %s, and has %d Pods at %s", what, clock(one.from), running, clock(by)))
		}
	}
	return wrong
}

// removalTakes is how long a Pod may run whose finalizer was taken off in order to remove it, when the API server takes deletes.
const removalTakes = time.Minute

// runsOn: a Pod that is not counted any more, since it is to be removed, is deleted, even where the reason for that is gone.
func (o outcome) runsOn() (wrong []string) {
	if o.scenario.Name == drawn && !(mended("13") && mended("14")) {
		return nil
	}
	for _, one := range o.lives {
		if !one.removed {
			continue
		}
		by := one.released.Add(removalTakes + 2*o.cost)
		if slices.ContainsFunc(o.scenario.Steps, func(s step) bool {
			return s.Does == "outage" || s.Does == "rights" || s.Does == "webhook" || s.Does == "protect" || s.Does == "statuses"
		}) {
			// What is refused is repeated after twice the time.
			by = by.Add(2 * max(o.calm().Sub(one.released), 0))
		}
		if one.deleted.IsZero() && one.ended.After(by) {
			wrong = append(wrong, fmt.Sprintf("%s was to be removed at %s, and runs until %s", one.fact.Name, clock(one.released), clock(one.ended)))
		}
	}
	return wrong
}

// uncountedTakes is how long more Pods may be active than the status says, while a watch runs and the API server answers.
const uncountedTakes = 15 * time.Second

// runUncounted: the status counts the Pods that are active.
func (o outcome) runUncounted() (wrong []string) {
	if o.does("outage", "rights", "statuses", "webhook", "protect", "late") {
		return nil
	}
	takes := uncountedTakes + 2*o.cost + 2*o.scenario.Lists + o.scenario.Hangs
	if o.scenario.Faults.OneIn > 0 {
		// What was refused is asked for once more, and may hang again.
		takes += o.scenario.Hangs
	}
	if o.does("deaf") {
		// An attempt that Temporal does not hear creates Pods, and its status is not written.
		takes += deafFor
	}
	for n, one := range o.statuses {
		until := o.calm()
		if n+1 < len(o.statuses) {
			until = o.statuses[n+1].at
		}
		for at := one.at.Add(takes); at.Before(until); at = at.Add(time.Second) {
			if active := o.activeSince(at, at.Add(-takes)); active > int(one.status.Active) && !at.Add(-takes).Before(o.started) && !o.unwatched(at.Add(-takes), at) && !o.wasSilent(at.Add(-takes), at) {
				wrong = append(wrong, fmt.Sprintf("%d Pods are active at %s, the status says %d since %s", active, clock(at), one.status.Active, clock(one.at)))
				break
			}
		}
	}
	return wrong
}

// does reports whether a scenario has one of these steps.
func (o outcome) does(what ...string) bool {
	return slices.ContainsFunc(o.scenario.Steps, func(s step) bool { return slices.Contains(what, s.Does) })
}

// wasSilent reports whether the API server left writes without an answer in a stretch, one after the other.
func (o outcome) wasSilent(from, to time.Time) bool {
	return slices.ContainsFunc(o.silent, func(at time.Time) bool { return !at.Before(from) && !at.After(to) })
}

// unwatched reports whether no watch of Pods runs at a time in a stretch.
func (o outcome) unwatched(from, to time.Time) (unwatched bool) {
	steps := slices.SortedStableFunc(slices.Values(o.scenario.Steps), func(a, b step) int { return cmp.Compare(a.At, b.At) })
	blind := false
	for _, s := range steps {
		at := o.begin.Add(s.At + apart + time.Second)
		if s.Does != "watched" && s.Does != "unwatched" || at.After(to) {
			continue
		}
		if blind && !at.Before(from) {
			return true
		}
		blind = s.Does == "unwatched"
	}
	return blind
}

// calm is when the scenario was over.
func (o outcome) calm() time.Time { return o.begin.Add(o.scenario.Lasts) }

// active is how many Pods were active at a time.
func (o outcome) active(at time.Time) int { return o.activeSince(at, at) }

// activeSince is how many Pods were active at a time that were created by another.
func (o outcome) activeSince(at, created time.Time) (count int) {
	for _, one := range o.lives {
		over := func(since time.Time) bool { return !since.IsZero() && !since.After(at) }
		if !one.created.After(created) && !over(one.ended) && !over(one.deleted) && !over(one.gone) {
			count++
		}
	}
	return count
}

// unmet: as many Pods are active as the scenario says.
func (o outcome) unmet() (wrong []string) {
	for _, want := range o.scenario.Wants {
		at := o.begin.Add(want.At)
		if active := o.active(at); active != want.Active {
			wrong = append(wrong, fmt.Sprintf("%d Pods are active at %s, want %d", active, clock(at), want.Active))
		}
	}
	return wrong
}

// invalid: no status is refused as invalid where nothing was lost.
func (o outcome) invalid() (wrong []string) {
	if o.crashed || o.does("forge") {
		return nil
	}
	for _, why := range o.refused {
		wrong = append(wrong, "a status was refused: "+why)
	}
	return wrong
}
