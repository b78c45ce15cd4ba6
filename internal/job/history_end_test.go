package job_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// checkRest asserts what holds when there is nothing left to do.
func (c *cluster) checkRest() {
	plan := job.Decide(c.state, c.spec, c.now)
	if c.ledger.full && c.now.Before(c.state.StatusRetry.Until) {
		return // Where the status has to wait, so does what the last plan left to the next.
	}
	if !plan.Idle() {
		c.t.Fatalf("planning again wants more: %+v", plan)
	}
	if !plan.Wake.At.IsZero() && !plan.Wake.At.After(c.now) {
		c.t.Fatalf("the wake %+v is not after %s, so the workflow would spin", plan.Wake, c.now)
	}
	if plan.Wake.At.IsZero() && plan.Finished == nil && len(plan.Next.Pods) > 0 {
		c.t.Fatalf("an unfinished Job would sleep for ever: %+v", plan)
	}
	if len(c.state.Evidence) > maxAttempts {
		c.t.Fatalf("evidence of %d Pods", len(c.state.Evidence))
	}
	c.checkBelief()
}

// checkBelief asserts that the workflow knows of the status that the API server has. One
// that a forgotten plan wrote may stand where the next plan knows of more Pods that are
// active or terminating: each of these brings a status when it ends.
func (c *cluster) checkBelief() {
	if c.now.Before(c.state.StatusRetry.Until) || c.now.Before(c.state.ErrorRetry.Until) {
		return
	}
	known, stored := c.state.Status(), c.status
	if c.ledger.crashed && (known.Active != stored.Active || number(known.Terminating) != number(stored.Terminating)) {
		return
	}
	if !sameStatus(known, stored) {
		c.t.Fatalf("the workflow believes in status %s, the API server has %s", describeStatus(known), describeStatus(stored))
	}
}

// runToTheEnd takes all obstacles away and lets every Pod succeed.
func (c *cluster) runToTheEnd() {
	c.refuseCreates, c.refuseStatus = 0, 0
	c.mend()
	c.crash.takenBack = false
	c.edit(func(spec *job.Spec) { spec.Suspend, spec.Parallelism = false, max(spec.Parallelism, 1) })
	for range 100 {
		c.settle()
		if c.finished != nil && !c.crashed {
			return
		}
		for _, pod := range c.pods {
			if !pod.terminal() {
				c.end(pod, corev1.PodSucceeded)
			}
		}
		c.deliver()
		c.pass(11 * time.Minute)
	}
	c.t.Fatalf("the Job does not end; it waits for %q: %+v", c.waiting, c.state)
}

// mend lets the deletes and releases of all Pods pass.
func (c *cluster) mend() {
	for _, pod := range c.pods {
		pod.stuck = false
	}
}

// checkLetGo asserts that nothing holds the Pods of a Job that is being deleted.
func (c *cluster) checkLetGo() {
	c.refuseCreates, c.refuseStatus, c.crash = 0, 0, crash{}
	c.mend()
	c.pass(time.Hour).deliver().settle().pass(7 * time.Hour).settle() // facts may be lost
	for _, pod := range c.pods {
		if pod.tracked && (!pod.foreign || c.ledger.pods[pod.uid] != nil) {
			c.t.Fatalf("Pod %+v keeps the finalizer", *pod)
		}
	}
}

// checkEnd asserts that nothing is left behind, and that the counters are true to
// what became of the Pods: those that nobody disturbed are counted as they ended.
func (c *cluster) checkEnd() {
	var succeeded, failed, disturbed int32
	done := map[int32]bool{}
	for _, pod := range c.pods {
		if pod.foreign && c.ledger != nil && c.ledger.pods[pod.uid] == nil {
			continue // The workflow ended without having heard of it: PodWatch lets it go.
		}
		switch {
		case pod.tracked:
			c.t.Fatalf("Pod %+v keeps the finalizer", *pod)
		case pod.active():
			c.t.Fatalf("Pod %+v was left running", *pod)
		}
		if pod.phase == corev1.PodSucceeded && pod.index != nil {
			done[*pod.index] = true
		}
		switch {
		case pod.disturbed || pod.foreign || pod.phase == corev1.PodFailed && c.spec.PodFailurePolicy != nil:
			disturbed++
		case pod.phase == corev1.PodSucceeded:
			succeeded++
		default:
			failed++
		}
	}
	status := c.status
	if c.indexed() {
		c.checkIndexes(done)
		succeeded, disturbed = 0, disturbed+succeeded+status.Succeeded
	}
	if c.ledger == nil || !c.ledger.inexact {
		if status.Succeeded < succeeded || status.Failed < failed || status.Succeeded+status.Failed > succeeded+failed+disturbed {
			c.t.Fatalf("status counts %d succeeded and %d failed; of %d Pods %d succeeded, %d failed, %d were disturbed",
				status.Succeeded, status.Failed, len(c.pods), succeeded, failed, disturbed)
		}
	}
	if c.finished.Succeeded != status.Succeeded || c.finished.Failed != status.Failed {
		c.t.Fatalf("result %+v differs from status %s", *c.finished, describeStatus(status))
	}
	condition := recordedVerdict(status)
	if isTrue(status, batchv1.JobComplete) != (condition.interim == batchv1.JobSuccessCriteriaMet) {
		c.t.Fatalf("verdict %v and status %s", condition, describeStatus(status))
	}
	c.checkEvidence()
	if c.ledger == nil {
		return // only random histories keep one
	}
	if c.ledger.crashed {
		return
	}
	if !maps.Equal(c.handled, c.ledger.handled) {
		c.t.Fatalf("handled by podFailurePolicy: %v, the ledger says %v", c.handled, c.ledger.handled)
	}
	if expired := len(slices.DeleteFunc(c.reasons(), func(reason string) bool { return reason != job.PendingDeadlineExceeded })); expired != c.ledger.expired {
		c.t.Fatalf("%d Events say that a Pod did not start, %d Pods did not", expired, c.ledger.expired)
	}
}

func (c *cluster) checkIndexes(done map[int32]bool) {
	completed, failed := setOf(c.status.CompletedIndexes), setOf(dereference(c.status.FailedIndexes))
	for index := range completed {
		if !done[index] {
			c.t.Fatalf("index %d is completed and no Pod of it succeeded: %s", index, describeStatus(c.status))
		}
	}
	for index := range failed {
		if !slices.ContainsFunc(c.pods, func(pod *modelPod) bool {
			return pod.index != nil && *pod.index == index && (pod.phase == corev1.PodFailed || pod.disturbed)
		}) {
			c.t.Fatalf("index %d has failed and no Pod of it has", index)
		}
	}
}

// checkEvidence asserts that what failed can be explained.
func (c *cluster) checkEvidence() {
	for _, attempt := range c.finished.Attempts {
		pod := c.byUID(attempt.UID)
		if pod.name != attempt.Pod || pod.logged && c.logs != logsLate && attempt.Log == "" && attempt.LogMissing == "" {
			c.t.Fatalf("evidence %+v of Pod %+v", attempt, *pod)
		}
		if pod.phase == corev1.PodFailed && !pod.disturbed && len(pod.exits) > 0 && attempt.ExitCode != pod.exits[0].Code {
			c.t.Fatalf("evidence %+v of a Pod that ended with %v", attempt, pod.exits)
		}
	}
	if len(c.finished.Attempts) > maxAttempts {
		c.t.Fatalf("evidence of %d Pods: %s", len(c.finished.Attempts), fmt.Sprint(c.finished.Attempts))
	}
}
