package parity

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/harness"
)

// deletionCases are about Jobs that are deleted, in every way and state, and made again.
var deletionCases = []testCase{
	newCase("deleted-in-the-background", endless(harness.Parallelism(2)),
		running(2).then(deleteJob(metav1.DeletePropagationBackground)), gone(0)),
	// With another policy a Pod counts as failed when its deletion is seen before the Job's.
	newCase("deleted-in-the-foreground", endless(replaceFailed, harness.Parallelism(2), harness.TerminationSeconds(8)),
		running(2).then(deleteJob(metav1.DeletePropagationForeground)),
		beingDeleted(2).and(allDeleting, counts(0, 0, 2)),
		gone(0)),
	newCase("deleted-without-its-pods", endless(harness.Parallelism(2)),
		running(2).then(deleteJob(metav1.DeletePropagationOrphan)), gone(2).and(noOwners).lasting(time.Second)),
	newCase("deleted-while-a-finalizer-holds-it", endless(harness.Completions(3), harness.Parallelism(2)),
		running(2).then(patchJob(`{"metadata":{"finalizers":["example.com/hold"]}}`), deleteJob(metav1.DeletePropagationBackground)),
		beingDeleted(2).then(succeed(onePod)),
		beingDeleted(2).and(counts(1, 1, 0)).lasting(time.Second).then(patchJob(`{"metadata":{"finalizers":null}}`)),
		gone(0)),
	newCase("deleted-while-suspended", endless(harness.Suspended()),
		suspendedNow().then(deleteJob(metav1.DeletePropagationBackground)), gone(0)),
	newCase("deleted-in-its-back-off", endless(),
		running(1).then(fail(1, onePod)), counted(1, 0).then(deleteJob(metav1.DeletePropagationForeground)), gone(0)),
	newCase("deleted-after-its-end", harness.JobSpec(),
		finished(batchv1.JobComplete).then(deleteJob(metav1.DeletePropagationBackground)), gone(0)),
	newCase("deleted-after-its-end-without-its-pods", harness.JobSpec(),
		finished(batchv1.JobComplete).then(deleteJob(metav1.DeletePropagationOrphan)), gone(1).and(noOwners)),
	newCase("made-again-while-running", endless(harness.Parallelism(2)),
		running(2).then(recreate), running(2).and(allOwn).then(succeed(eachPod)), finished(batchv1.JobComplete)),
	newCase("made-again-in-its-back-off", endless(),
		running(1).then(fail(1, onePod)),
		counted(1, 0).then(recreate),
		running(1).and(allOwn, failures(0), within(beforeABackoff)).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("made-again-after-its-end", endless(harness.BackoffLimit(0)),
		running(1).then(fail(1, onePod)),
		finished(batchv1.JobFailed).then(recreate),
		running(1).and(allOwn).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("made-again-indexed", endless(harness.Indexed(2)),
		running(2).then(succeed(index(0))),
		running(1).and(completed("0")).then(recreate),
		running(2).and(allOwn, completed("")).then(succeed(eachPod)),
		finished(batchv1.JobComplete)),
}

// allDeleting checks that every Pod is being deleted.
func allDeleting(s subject) error {
	for _, pod := range s.pods {
		if pod.DeletionTimestamp == nil {
			return fmt.Errorf("pod %s is not being deleted", pod.Name)
		}
	}
	return nil
}

// noOwners checks that no Pod has an owner.
func noOwners(s subject) error {
	for _, pod := range s.pods {
		if len(pod.OwnerReferences) > 0 {
			return fmt.Errorf("pod %s has the owner %s", pod.Name, pod.OwnerReferences[0].Name)
		}
	}
	return nil
}
