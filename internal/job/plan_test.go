package job_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

func specOf(parallelism, completions int32) job.Spec {
	return job.Spec{Parallelism: parallelism, Completions: pointer(completions), BackoffLimit: 6}
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// counts is the numeric part of a status, in the order active, ready,
// terminating, succeeded, failed.
func counts(s batchv1.JobStatus) [5]int32 {
	return [5]int32{s.Active, number(s.Ready), number(s.Terminating), s.Succeeded, s.Failed}
}

// The write sequences are those of parity 2.11 with the lists of uncounted Pods
// left out, since the workflow's history takes their place.

func TestOnePodThatSucceedsTakesTwoStatusWrites(t *testing.T) {
	c := newCluster(t, specOf(1, 1)).settle()
	equal(t, "Pods created", len(c.creates), 1)
	equal(t, "first write", counts(c.writes[0]), [5]int32{1, 0, 0, 0, 0})
	equal(t, "startTime", c.writes[0].StartTime.Unix(), start.Unix())

	c.run(1).succeed(1).pass(time.Minute).deliver().settle()
	equal(t, "number of writes", len(c.writes), 2)
	equal(t, "last write", counts(c.status), [5]int32{0, 0, 0, 1, 0})
	equal(t, "conditions", conditionsOf(c.status), []string{"SuccessCriteriaMet/CompletionsReached", "Complete/CompletionsReached"})
	equal(t, "Events", c.reasons(), []string{"Completed"})
	equal(t, "finalizer kept", c.pods[0].tracked, false)
	want := &job.Result{
		UID: "uid-1", Outcome: job.Complete, Reason: "CompletionsReached",
		Message:   "Reached expected number of succeeded pods",
		StartTime: start.Truncate(time.Second), CompletionTime: start.Add(time.Minute).Truncate(time.Second), Succeeded: 1,
	}
	equal(t, "result", *c.finished, *want)
}

func TestBackoffLimitExceededDrainsBeforeFailed(t *testing.T) {
	spec := specOf(2, 2)
	spec.BackoffLimit = 0
	c := newCluster(t, spec).settle().run(2).fail(1).deliver().settle()
	equal(t, "status while one terminates", counts(c.status), [5]int32{0, 0, 1, 0, 2})
	equal(t, "conditions", conditionsOf(c.status), []string{"FailureTarget/BackoffLimitExceeded"})
	equal(t, "Events", c.reasons(), []string{})
	equal(t, "waiting", c.waiting, "BackoffLimitExceeded: 1 Pods to terminate")

	c.drain().deliver().settle()
	equal(t, "status at the end", counts(c.status), [5]int32{0, 0, 0, 0, 2})
	equal(t, "conditions", conditionsOf(c.status), []string{"FailureTarget/BackoffLimitExceeded", "Failed/BackoffLimitExceeded"})
	equal(t, "Events", c.reasons(), []string{"BackoffLimitExceeded"})
	equal(t, "number of writes", len(c.writes), 3)
	equal(t, "completionTime", c.status.CompletionTime == nil, true)
	equal(t, "outcome", c.finished.Outcome, job.Failed)
}

func TestFailureWithNothingToDrainTakesOneWrite(t *testing.T) {
	spec := specOf(1, 1)
	spec.BackoffLimit = 0
	c := newCluster(t, spec).settle().fail(1).deliver().settle()
	equal(t, "number of writes", len(c.writes), 2)
	equal(t, "conditions", conditionsOf(c.status), []string{"FailureTarget/BackoffLimitExceeded", "Failed/BackoffLimitExceeded"})
}

func TestBackoffDoublesFromTenSecondsToTenMinutes(t *testing.T) {
	spec := specOf(1, 1)
	spec.BackoffLimit = 100
	c := newCluster(t, spec).settle()
	for i, seconds := range []int{10, 20, 40, 80, 160, 320, 600, 600} {
		c.fail(1).deliver().settle()
		equal(t, "Pods before the wake", len(c.creates), i+1)
		equal(t, "wake", c.wake, job.Wake{At: c.now.Add(time.Duration(seconds) * time.Second), Reason: job.WakeBackoff})
		c.pass(time.Duration(seconds)*time.Second - 1).settle()
		equal(t, "Pods just before the wake", len(c.creates), i+1)
		c.pass(1).settle()
		equal(t, "Pods after the wake", len(c.creates), i+2)
	}
}

func TestParallelFailuresEachLengthenTheBackoff(t *testing.T) {
	c := newCluster(t, specOf(5, 5)).settle().fail(5).deliver().settle()
	equal(t, "wake", c.wake.At.Sub(c.now), 160*time.Second)
	equal(t, "active during back-off", c.status.Active, 0)
}

func TestASuccessEndsTheBackoff(t *testing.T) {
	c := newCluster(t, specOf(2, 4)).settle()
	c.fail(1).pass(time.Second).succeed(1).deliver().settle()
	equal(t, "Pods created at once", len(c.creates), 4)
}

func TestOnlyFailuresAfterTheNewestSuccessCount(t *testing.T) {
	c := newCluster(t, specOf(3, 4)).settle()
	c.fail(1).pass(time.Second).succeed(1).pass(time.Second).fail(1).deliver().settle()
	equal(t, "wake", c.wake.At.Sub(c.now), 10*time.Second)
}

func TestRestartsInPlaceCountAgainstTheBackoffLimit(t *testing.T) {
	tests := []struct {
		name     string
		limit    int32
		restarts int32
		policy   corev1.RestartPolicy
		want     bool
	}{
		{"fewer than the limit", 3, 2, corev1.RestartPolicyOnFailure, false},
		{"as many as the limit", 3, 3, corev1.RestartPolicyOnFailure, true},
		{"none with limit 0", 0, 0, corev1.RestartPolicyOnFailure, false},
		{"one with limit 0", 0, 1, corev1.RestartPolicyOnFailure, true},
		{"policy Never", 3, 9, corev1.RestartPolicyNever, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := specOf(1, 1)
			spec.BackoffLimit, spec.RestartPolicy = test.limit, test.policy
			c := newCluster(t, spec).settle().run(1)
			c.pods[0].restarts = test.restarts
			c.changed(c.pods[0])
			c.deliver().settle()
			equal(t, "FailureTarget", isTrue(c.status, batchv1.JobFailureTarget), test.want)
		})
	}
}

func TestActiveDeadline(t *testing.T) {
	t.Run("ends a Job that runs too long", func(t *testing.T) {
		spec := specOf(1, 1)
		spec.ActiveDeadlineSeconds = pointer[int64](30)
		c := newCluster(t, spec).settle()
		equal(t, "wake", c.wake, job.Wake{At: start.Truncate(time.Second).Add(30 * time.Second), Reason: job.WakeDeadline})
		c.pass(30 * time.Second).settle()
		equal(t, "conditions", conditionsOf(c.status), []string{"FailureTarget/DeadlineExceeded"})
		c.drain().deliver().settle()
		equal(t, "Events", c.reasons(), []string{"DeadlineExceeded"})
		equal(t, "failed", c.status.Failed, 1)
	})
	t.Run("of zero ends it at once", func(t *testing.T) {
		spec := specOf(1, 1)
		spec.ActiveDeadlineSeconds = pointer[int64](0)
		c := newCluster(t, spec).settle()
		equal(t, "Pods created", len(c.creates), 0)
		equal(t, "conditions", conditionsOf(c.status), []string{"FailureTarget/DeadlineExceeded", "Failed/DeadlineExceeded"})
	})
	t.Run("follows edits", func(t *testing.T) {
		spec := specOf(1, 1)
		spec.ActiveDeadlineSeconds = pointer[int64](30)
		c := newCluster(t, spec).settle()
		c.edit(func(spec *job.Spec) { spec.ActiveDeadlineSeconds = pointer[int64](60) })
		c.pass(30 * time.Second).settle()
		equal(t, "wake", c.wake.At, start.Truncate(time.Second).Add(60*time.Second))
		c.edit(func(spec *job.Spec) { spec.ActiveDeadlineSeconds = pointer[int64](20) })
		equal(t, "failed", isTrue(c.settle().status, batchv1.JobFailureTarget), true)
	})
	t.Run("starts again on resume and does not run while suspended", func(t *testing.T) {
		spec := specOf(1, 1)
		spec.ActiveDeadlineSeconds = pointer[int64](30)
		c := newCluster(t, spec).settle()
		c.edit(func(spec *job.Spec) { spec.Suspend = true })
		c.settle().pass(10 * time.Hour).settle()
		equal(t, "conditions", conditionsOf(c.status), []string{"Suspended/JobSuspended"})
		c.edit(func(spec *job.Spec) { spec.Suspend = false })
		c.settle()
		equal(t, "wake", c.wake.At, c.now.Truncate(time.Second).Add(30*time.Second))
	})
}

func TestSuspendAndResume(t *testing.T) {
	c := newCluster(t, specOf(2, 2)).settle().run(2).deliver().settle()
	c.edit(func(spec *job.Spec) { spec.Suspend = true })
	c.settle()
	equal(t, "status", counts(c.status), [5]int32{0, 0, 2, 0, 0})
	equal(t, "conditions", conditionsOf(c.status), []string{"Suspended/JobSuspended"})
	equal(t, "startTime", c.status.StartTime == nil, true)
	equal(t, "number of writes", len(c.writes), 2)
	equal(t, "removed uncounted", []bool{c.pods[0].tracked, c.pods[1].tracked}, []bool{false, false})

	c.drain().pass(time.Minute).deliver().settle()
	equal(t, "status after draining", counts(c.status), [5]int32{0, 0, 0, 0, 0})

	c.edit(func(spec *job.Spec) { spec.Suspend = false })
	c.pass(time.Minute).settle()
	equal(t, "status after resume", counts(c.status), [5]int32{2, 0, 0, 0, 0})
	equal(t, "conditions", conditionsOf(c.status), []string{"Suspended=False/JobResumed"})
	equal(t, "startTime", c.status.StartTime.Unix(), c.now.Unix())
	equal(t, "Events", c.reasons(), []string{"Suspended", "Resumed"})
}

func TestCreatedSuspended(t *testing.T) {
	spec := specOf(2, 2)
	spec.Suspend = true
	c := newCluster(t, spec).settle()
	equal(t, "Pods created", len(c.creates), 0)
	equal(t, "startTime", c.status.StartTime == nil, true)
	equal(t, "conditions", conditionsOf(c.status), []string{"Suspended/JobSuspended"})
	equal(t, "waiting", c.waiting, "suspended")
}

func TestNoCompletionsWantedIsComplete(t *testing.T) {
	for _, suspend := range []bool{false, true} {
		spec := specOf(1, 0)
		spec.Suspend = suspend
		c := newCluster(t, spec).settle()
		equal(t, "conditions", conditionsOf(c.status), []string{"SuccessCriteriaMet/CompletionsReached", "Complete/CompletionsReached"})
		equal(t, "startTime set", c.status.StartTime != nil, !suspend)
	}
}

func TestParallelismFollowsEdits(t *testing.T) {
	c := newCluster(t, specOf(2, 10)).settle().run(1).deliver().settle()
	c.edit(func(spec *job.Spec) { spec.Parallelism = 4 })
	c.settle()
	equal(t, "active after scaling up", c.status.Active, 4)
	c.edit(func(spec *job.Spec) { spec.Parallelism = 1 })
	c.settle()
	equal(t, "status after scaling down", counts(c.status), [5]int32{1, 0, 3, 0, 0})
	equal(t, "the running Pod stays", c.pods[0].active(), true)
	c.edit(func(spec *job.Spec) { spec.Parallelism = 0 })
	c.settle()
	equal(t, "active after scaling to 0", c.status.Active, 0)
	c.drain().deliver().settle()
	equal(t, "removed Pods are not counted", counts(c.status), [5]int32{0, 0, 0, 0, 0})
	equal(t, "waiting", c.waiting, "parallelism is 0")
}

// TestUnreadyPodsGoFirst: PodWatch does not tell when a Pod becomes unready, so the
// Pods are listed before some of them are removed.
func TestUnreadyPodsGoFirst(t *testing.T) {
	c := newCluster(t, specOf(3, 3)).settle().run(3).deliver().settle()
	c.pods[1].ready = false
	c.pods[1].version++
	c.edit(func(spec *job.Spec) { spec.Parallelism = 2 })
	c.settle()
	equal(t, "removed", c.removed, []string{c.pods[1].uid})
}

// TestPodsThatTheJobRemovesAreNotJudged: they end by the signal of their removal.
func TestPodsThatTheJobRemovesAreNotJudged(t *testing.T) {
	spec := specOf(1, 1)
	spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action:      batchv1.PodFailurePolicyActionFailJob,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{143}},
	}}}
	c := newCluster(t, spec).settle().run(1).deliver().settle()
	c.edit(func(spec *job.Spec) { spec.Suspend = true })
	c.settle()
	c.exit(c.pods[0], job.Exit{Container: "main", Code: 143})
	c.deliver().settle()
	equal(t, "conditions", conditionsOf(c.status), []string{"Suspended/JobSuspended"})
	c.edit(func(spec *job.Spec) { spec.Suspend = false })
	c.settle()
	equal(t, "status after the resumption", counts(c.status), [5]int32{1, 0, 0, 0, 0})
}

// TestPodThatWasLetGoIsTakenBack: it is the Job's again and counts as any other.
func TestPodThatWasLetGoIsTakenBack(t *testing.T) {
	c := newCluster(t, specOf(1, 1)).settle().run(1).deliver().settle()
	c.disown(c.pods[0])
	c.deliver().settle()
	equal(t, "replaced", len(c.creates), 2)
	c.pods[0].disowned, c.pods[0].tracked = false, true
	c.changed(c.pods[0])
	c.deliver().pass(time.Second).settle()
	equal(t, "the younger is surplus", c.removed, []string{c.pods[1].uid})
	c.drain().succeed(1).deliver().settle()
	equal(t, "status", counts(c.status), [5]int32{0, 0, 0, 1, 0})
	equal(t, "finished", c.finished.Outcome, job.Complete)
}

// TestLateFactOfAPodThatIsAccountedFor costs a list and nothing else.
func TestLateFactOfAPodThatIsAccountedFor(t *testing.T) {
	c := newCluster(t, specOf(1, 2)).settle().run(1)
	late := c.pods[0].fact()
	c.deliver().succeed(1).deliver().settle()
	before := c.status
	c.hear(late)
	equal(t, "asks for a list", job.Decide(c.state, c.spec, c.now).List, true)
	c.settle()
	equal(t, "status", counts(c.status), counts(before))
	equal(t, "Pods", len(c.creates), 2)
}

func TestNoMorePodsThanAreMissing(t *testing.T) {
	c := newCluster(t, specOf(3, 4)).settle().succeed(2).deliver().settle()
	equal(t, "status", counts(c.status), [5]int32{2, 0, 0, 2, 0})
}

func TestWorkQueueEndsWithItsFirstSuccess(t *testing.T) {
	c := newCluster(t, job.Spec{Parallelism: 3, BackoffLimit: 6}).settle()
	c.succeed(1).deliver().settle()
	equal(t, "others go on, none is added", counts(c.status), [5]int32{2, 0, 0, 1, 0})
	c.fail(1).deliver().settle()
	equal(t, "a failure is not replaced", counts(c.status), [5]int32{1, 0, 0, 1, 1})
	c.succeed(1).deliver().settle()
	equal(t, "outcome", c.finished.Outcome, job.Complete)
}

func TestMoreSuccessesThanCompletions(t *testing.T) {
	c := newCluster(t, specOf(3, 3)).settle()
	c.edit(func(spec *job.Spec) { spec.Parallelism = 5 }) // no effect: three are missing
	c.settle()
	c.edit(func(spec *job.Spec) { spec.Completions = pointer[int32](2) })
	c.succeed(3).deliver().settle()
	equal(t, "Events", c.reasons(), []string{"TooManySucceededPods", "Completed"})
}

func TestDeletedPodIsReplacedByPolicy(t *testing.T) {
	tests := []struct {
		policy          batchv1.PodReplacementPolicy
		while, afterEnd [5]int32
	}{
		{batchv1.TerminatingOrFailed, [5]int32{1, 0, 1, 0, 1}, [5]int32{1, 0, 0, 0, 1}},
		{batchv1.Failed, [5]int32{0, 0, 1, 0, 0}, [5]int32{1, 0, 0, 0, 1}},
	}
	for _, test := range tests {
		t.Run(string(test.policy), func(t *testing.T) {
			spec := specOf(1, 1)
			spec.PodReplacementPolicy = test.policy
			c := newCluster(t, spec).settle().run(1)
			c.delete(c.pods[0])
			c.deliver().settle().pass(10 * time.Second).settle()
			equal(t, "status while it terminates", counts(c.status), test.while)
			c.drain().deliver().settle().pass(10 * time.Second).settle()
			equal(t, "status after its end", counts(c.status), test.afterEnd)
		})
	}
}

func TestVanishedPodCountsAsFailed(t *testing.T) {
	c := newCluster(t, specOf(1, 1)).settle().run(1)
	c.vanish(c.pods[0])
	c.deliver().settle()
	equal(t, "status", counts(c.status), [5]int32{0, 0, 0, 0, 1})
	equal(t, "wake", c.wake.Reason, job.WakeBackoff)
}

func TestDeletedJobLetsItsPodsGo(t *testing.T) {
	c := newCluster(t, specOf(3, 3)).settle().run(1).fail(1).deliver()
	c.edit(func(spec *job.Spec) { spec.Deleting = true })
	c.settle()
	equal(t, "status", counts(c.status), [5]int32{2, 0, 0, 0, 1})
	for _, pod := range c.pods {
		equal(t, pod.name+" tracked, deleting", [2]bool{pod.tracked, pod.deleting}, [2]bool{false, false})
	}
	equal(t, "Pods created", len(c.creates), 3)
	c.succeed(1).deliver().settle()
	equal(t, "released Pods are not counted", c.status.Succeeded, 0)
}

func TestUnsupportedCompletionModeIsAnnouncedOnce(t *testing.T) {
	spec := specOf(1, 1)
	spec.CompletionMode = "Unheard"
	c := newCluster(t, spec).settle().pass(time.Minute).settle()
	equal(t, "Events", c.reasons(), []string{"UnknownCompletionMode"})
	equal(t, "Pods created", len(c.creates), 0)
	equal(t, "statuses written", len(c.writes), 0)
}

func TestLargeJobsGoInSteps(t *testing.T) {
	c := newCluster(t, specOf(1200, 1200))
	plan := job.Decide(c.state, c.spec, c.now)
	equal(t, "creates in one plan", len(plan.Creates), 500)
	c.settle()
	equal(t, "active", c.status.Active, 1200)
	c.succeed(1200).deliver()
	plan = job.Decide(c.state, c.spec, c.now)
	equal(t, "releases in one plan", len(plan.Releases), 500)
	equal(t, "Complete before all are released", isTrue(*plan.Status, batchv1.JobComplete), false)
	c.settle()
	equal(t, "outcome", c.finished.Outcome, job.Complete)
}

func TestPodsAreRemovedLeastAdvancedFirst(t *testing.T) {
	c := newCluster(t, specOf(5, 10)).settle().run(3)
	c.pods[1].restarts = 2 // 0, 1 and 2 run; 1 was restarted; 3 and 4 are pending
	c.changed(c.pods[1])
	c.deliver().settle()
	var order []int
	for parallelism := int32(4); parallelism >= 0; parallelism-- {
		c.edit(func(spec *job.Spec) { spec.Parallelism = parallelism })
		c.settle()
		for i, pod := range c.pods {
			if pod.deleting && !slices.Contains(order, i) {
				order = append(order, i)
			}
		}
	}
	equal(t, "order of removal", order, []int{4, 3, 1, 2, 0})
}
