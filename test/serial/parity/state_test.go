package parity

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/harness"
)

// running waits until so many Pods are active and ready, and all else is settled.
func running(pods int32) step {
	return state(fmt.Sprintf("%d running", pods), counts(pods, pods, 0), settled, unfinishedAre(pods, corev1.PodRunning))
}

// pending waits until so many Pods are active and none of them has started.
func pending(pods int32) step {
	return state(fmt.Sprintf("%d pending", pods), counts(pods, 0, 0), settled, unfinishedAre(pods, corev1.PodPending))
}

// terminating waits until so many Pods are on their way out and none is active.
func terminating(pods int32) step {
	return state(fmt.Sprintf("%d terminating", pods), counts(0, 0, pods), nothingUncounted)
}

// counted waits until so many failures are counted and their Pods released, while
// so many others run.
func counted(failed, active int32) step {
	return state(fmt.Sprintf("%d failed, %d running", failed, active), counts(active, active, 0), failures(failed), settled,
		unfinishedAre(active, corev1.PodRunning))
}

// suspendedNow waits until the Job is suspended and no Pod of it runs.
func suspendedNow() step {
	return state("suspended", condition(batchv1.JobSuspended), counts(0, 0, 0), settled, unfinishedAre(0, corev1.PodRunning))
}

// waiting waits until the Job was looked at and has nothing running.
func waiting() step {
	return state("waiting", counts(0, 0, 0), settled, func(s subject) error {
		if s.job.Status.StartTime == nil {
			return fmt.Errorf("the Job has no startTime")
		}
		return nil
	})
}

// finished waits until the Job is over and its Pods are released.
func finished(of batchv1.JobConditionType) step { return state(string(of), condition(of), settled) }

// beingDeleted waits until the Job is being deleted, has this number of Pods left, and tracks none of
// them.
func beingDeleted(pods int) step {
	return state(fmt.Sprintf("being deleted, %d Pods", pods), podsAre(pods), untracked, func(s subject) error {
		if s.job.DeletionTimestamp == nil {
			return fmt.Errorf("the Job is not being deleted")
		}
		return nil
	})
}

// gone waits until the Job does not exist and has left this number of Pods, none of them tracked.
func gone(pods int) step {
	return step{name: fmt.Sprintf("gone, %d Pods left", pods), checks: []check{podsAre(pods), untracked, func(s subject) error {
		if s.job != nil {
			return fmt.Errorf("the Job is still there")
		}
		return nil
	}}}
}

// counts checks the Pods that status says are there.
func counts(active, ready, terminating int32) check {
	return func(s subject) error {
		status := s.job.Status
		if status.Active != active || value(status.Ready) != ready || value(status.Terminating) != terminating {
			return fmt.Errorf("active %d, ready %d, terminating %d", status.Active, value(status.Ready), value(status.Terminating))
		}
		return nil
	}
}

// settled checks that every Pod that has ended is counted and released, and that
// none is being deleted.
func settled(s subject) error {
	for _, pod := range s.pods {
		if pod.DeletionTimestamp != nil {
			return fmt.Errorf("pod %s is on its way out", pod.Name)
		}
		if ended(pod) && harness.Tracked(pod) {
			return fmt.Errorf("pod %s is %s and not released", pod.Name, pod.Status.Phase)
		}
	}
	if err := nothingUncounted(s); err != nil || !harness.HasCondition(s.job, batchv1.JobComplete) && !harness.HasCondition(s.job, batchv1.JobFailed) {
		return err
	}
	return untracked(s)
}

func nothingUncounted(s subject) error {
	if pods := s.job.Status.UncountedTerminatedPods; pods != nil && len(pods.Succeeded)+len(pods.Failed) > 0 {
		return fmt.Errorf("not counted yet: %v", pods)
	}
	return nil
}

// untracked checks that no Pod has the tracking finalizer.
func untracked(s subject) error {
	for _, pod := range s.pods {
		if harness.Tracked(pod) {
			return fmt.Errorf("pod %s is not released", pod.Name)
		}
	}
	return nil
}

// unfinishedAre checks that so many Pods have not ended and are all in the phase:
// a controller that gathers changes still calls a Pod active that has ended.
func unfinishedAre(count int32, phase corev1.PodPhase) check {
	return func(s subject) error {
		pods := s.unfinished()
		for _, pod := range pods {
			if pod.Status.Phase != phase {
				return fmt.Errorf("pod %s is %s", pod.Name, pod.Status.Phase)
			}
		}
		if len(pods) != int(count) {
			return fmt.Errorf("there are %d Pods that have not ended", len(pods))
		}
		return nil
	}
}

// podsAre checks how many Pods there are.
func podsAre(count int) check {
	return func(s subject) error {
		if len(s.pods) != count {
			return fmt.Errorf("there are %d Pods", len(s.pods))
		}
		return nil
	}
}

// made checks how many Pods there ever were.
func made(count int) check {
	return func(s subject) error {
		if pods := s.record.Pods(s.name); len(pods) != count {
			return fmt.Errorf("there were %d Pods", len(pods))
		}
		return nil
	}
}

// allOwn checks that the Job controls each of its Pods.
func allOwn(s subject) error {
	for _, pod := range s.pods {
		if !metav1.IsControlledBy(pod, s.job) {
			return fmt.Errorf("pod %s is not the Job's", pod.Name)
		}
	}
	return nil
}

func condition(of batchv1.JobConditionType) check {
	return func(s subject) error {
		if !harness.HasCondition(s.job, of) {
			return fmt.Errorf("not %s", of)
		}
		return nil
	}
}

func noCondition(of batchv1.JobConditionType) check {
	return func(s subject) error {
		if harness.HasCondition(s.job, of) {
			return fmt.Errorf("still %s", of)
		}
		return nil
	}
}

func failures(failed int32) check {
	return func(s subject) error {
		if s.job.Status.Failed != failed {
			return fmt.Errorf("failed %d", s.job.Status.Failed)
		}
		return nil
	}
}

func successes(succeeded int32) check {
	return func(s subject) error {
		if s.job.Status.Succeeded != succeeded {
			return fmt.Errorf("succeeded %d", s.job.Status.Succeeded)
		}
		return nil
	}
}

// completed checks status.completedIndexes.
func completed(indexes string) check {
	return func(s subject) error {
		if s.job.Status.CompletedIndexes != indexes {
			return fmt.Errorf("completedIndexes %q", s.job.Status.CompletedIndexes)
		}
		return nil
	}
}

// failed checks status.failedIndexes.
func failed(indexes string) check {
	return func(s subject) error {
		if got := s.job.Status.FailedIndexes; got == nil || *got != indexes {
			return fmt.Errorf("failedIndexes %v", got)
		}
		return nil
	}
}

// within checks that no more time has passed since something was done last.
func within(limit time.Duration) check {
	return func(s subject) error {
		if passed := time.Since(s.acted); passed > limit {
			return fmt.Errorf("only %s after it was asked for", passed.Round(time.Second))
		}
		return nil
	}
}

// failedPodsAre checks that so many Pods have failed, counted or not.
func failedPodsAre(count int) check {
	return func(s subject) error {
		failed := 0
		for _, pod := range s.pods {
			if pod.Status.Phase == corev1.PodFailed {
				failed++
			}
		}
		if failed != count {
			return fmt.Errorf("%d Pods have failed", failed)
		}
		return nil
	}
}

// newestAfter checks that the newest Pod was made so long after something was done
// last; a second less, for creation times are whole seconds.
func newestAfter(delay time.Duration) check {
	return func(s subject) error {
		if len(s.pods) == 0 {
			return fmt.Errorf("there is no Pod")
		}
		if after := s.pods[len(s.pods)-1].CreationTimestamp.Sub(s.acted); after < delay-time.Second {
			return fmt.Errorf("the newest Pod was made %s after", after)
		}
		return nil
	}
}

// startedAnew checks that startTime is not older than what was done last.
func startedAnew(s subject) error {
	if s.job.Status.StartTime == nil || s.job.Status.StartTime.Time.Before(s.acted.Truncate(time.Second)) {
		return fmt.Errorf("startTime is %s, the resume was at %s", s.job.Status.StartTime, s.acted)
	}
	return nil
}

func value(pointer *int32) int32 {
	if pointer == nil {
		return -1
	}
	return *pointer
}
