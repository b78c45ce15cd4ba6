package parity

import (
	"context"
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/devstack/node"
	"ostinato.dev/ostinato/test/harness"
)

// testCase is a Job and what happens to it.
type testCase struct {
	name  string
	spec  batchv1.JobSpec
	steps []step
}

// step waits for a state of the Job, in which both are compared, and then does
// something to it.
type step struct {
	name string
	when func(subject) error
	do   func(context.Context, subject) error
}

var long = harness.RunSeconds(600)

var testCases = []testCase{
	{"succeeds", harness.JobSpec(harness.RunSeconds(5)), steps(running(1), finished(batchv1.JobComplete))},
	{"succeeds-at-once", harness.JobSpec(), steps(finished(batchv1.JobComplete))},
	{"work-queue", harness.JobSpec(harness.Parallelism(2), harness.RunSeconds(2)), steps(finished(batchv1.JobComplete))},
	{"two-at-a-time", harness.JobSpec(harness.Parallelism(2), harness.Completions(3), harness.RunSeconds(5)),
		steps(running(2), finished(batchv1.JobComplete))},
	{"fails", harness.JobSpec(harness.ExitCode(1), harness.BackoffLimit(0)), steps(finished(batchv1.JobFailed))},
	{"fails-twice", harness.JobSpec(harness.ExitCode(3), harness.BackoffLimit(1)), steps(counted(1), finished(batchv1.JobFailed))},
	{"fails-while-others-run", harness.JobSpec(harness.Parallelism(2), harness.Completions(2), harness.BackoffLimit(0), long),
		steps(running(2).then(failOnePod), finished(batchv1.JobFailed))},
	{"deadline", harness.JobSpec(deadline(8), long), steps(running(1), finished(batchv1.JobFailed))},
	{"no-time-at-all", harness.JobSpec(deadline(0), long), steps(finished(batchv1.JobFailed))},
	{"created-suspended", harness.JobSpec(suspended, harness.RunSeconds(1)),
		steps(suspendedNow().then(suspend(false)), finished(batchv1.JobComplete))},
	{"suspended-while-running", harness.JobSpec(harness.RunSeconds(8)),
		steps(running(1).then(suspend(true)), suspendedNow().then(suspend(false)), finished(batchv1.JobComplete))},
	{"restarts-in-place", harness.JobSpec(onFailure, harness.ExitCode(1), harness.PodAnnotation(node.AnnotationFailTimes, "2")),
		steps(finished(batchv1.JobComplete))},
	{"restarts-too-often", harness.JobSpec(onFailure, harness.ExitCode(1), harness.BackoffLimit(2)), steps(finished(batchv1.JobFailed))},
	{"nothing-to-do", harness.JobSpec(harness.Completions(0)), steps(finished(batchv1.JobComplete))},
	{"nothing-to-do-suspended", harness.JobSpec(harness.Completions(0), suspended), steps(finished(batchv1.JobComplete))},
	{"nobody-to-do-it", harness.JobSpec(harness.Parallelism(0), harness.Completions(1)),
		steps(waiting().then(parallelism(1)), finished(batchv1.JobComplete))},
	{"fewer-at-a-time", harness.JobSpec(harness.Parallelism(3), harness.Completions(3), long),
		steps(running(3).then(parallelism(1)), running(1))},
	{"pod-deleted", harness.JobSpec(harness.RunSeconds(6)),
		steps(running(1).then(deletePod), counted(1), finished(batchv1.JobComplete))},
	{"replaced-when-gone", harness.JobSpec(replaceFailed, harness.RunSeconds(5), harness.PodAnnotation(node.AnnotationTerminationSeconds, "5")),
		steps(running(1).then(deletePod), terminating(1), counted(1), finished(batchv1.JobComplete))},
	{"more-at-a-time", harness.JobSpec(harness.Completions(3), long), steps(running(1).then(parallelism(3)), running(3))},
	{"deadline-shortened", harness.JobSpec(long), steps(running(1).then(patchJob(`{"spec":{"activeDeadlineSeconds":1}}`)), finished(batchv1.JobFailed))},
	{"deadline-counts-from-resume", harness.JobSpec(suspended, deadline(8), long),
		steps(suspendedNow().then(suspend(false)), running(1), finished(batchv1.JobFailed))},
	{"back-off-limit-lowered", harness.JobSpec(harness.ExitCode(1), harness.BackoffLimit(5)),
		steps(counted(1).then(patchJob(`{"spec":{"backoffLimit":0}}`)), finished(batchv1.JobFailed))},
	{"condition-of-a-user", harness.JobSpec(harness.RunSeconds(5)), steps(running(1).then(addCondition), finished(batchv1.JobComplete))},
	{"labels-and-annotations", labelled(), steps(running(1), finished(batchv1.JobComplete))},
}

func steps(steps ...step) []step { return steps }

func (s step) then(do func(context.Context, subject) error) step {
	s.do = do
	return s
}

func suspended(spec *batchv1.JobSpec) {
	yes := true
	spec.Suspend = &yes
}

func deadline(seconds int64) harness.JobOption {
	return func(spec *batchv1.JobSpec) { spec.ActiveDeadlineSeconds = &seconds }
}

func replaceFailed(spec *batchv1.JobSpec) {
	failed := batchv1.Failed
	spec.PodReplacementPolicy = &failed
}

var onFailure = harness.RestartPolicy(corev1.RestartPolicyOnFailure)

// labelled is a Job whose template brings metadata of its own.
func labelled() batchv1.JobSpec {
	spec := harness.JobSpec(harness.RunSeconds(5), harness.PodAnnotation("example.com/note", "kept"))
	spec.Template.Labels = map[string]string{"app": "parity"}
	spec.Template.Finalizers = []string{}
	return spec
}

// running waits until so many Pods are active and ready.
func running(pods int32) step {
	return step{name: fmt.Sprintf("%d running", pods), when: func(s subject) error {
		status := s.job.Status
		if status.Active != pods || value(status.Ready) != pods || value(status.Terminating) != 0 {
			return fmt.Errorf("active %d, ready %d, terminating %d", status.Active, value(status.Ready), value(status.Terminating))
		}
		// A controller that gathers changes still calls a Pod active that has ended.
		for _, pod := range s.pods {
			if pod.Status.Phase != corev1.PodRunning {
				return fmt.Errorf("pod %s is %s", pod.Name, pod.Status.Phase)
			}
		}
		if len(s.pods) != int(pods) {
			return fmt.Errorf("there are %d Pods", len(s.pods))
		}
		return nil
	}}
}

// terminating waits until so many Pods are on their way out and none is active.
func terminating(pods int32) step {
	return step{name: fmt.Sprintf("%d terminating", pods), when: func(s subject) error {
		if s.job.Status.Active != 0 || value(s.job.Status.Terminating) != pods {
			return fmt.Errorf("active %d, terminating %d", s.job.Status.Active, value(s.job.Status.Terminating))
		}
		return nil
	}}
}

// counted waits until so many failures are counted and their Pods released.
func counted(failed int32) step {
	return step{name: fmt.Sprintf("%d failed", failed), when: func(s subject) error {
		if s.job.Status.Failed != failed || uncounted(s.job.Status) || value(s.job.Status.Terminating) != 0 {
			return fmt.Errorf("failed %d, terminating %d", s.job.Status.Failed, value(s.job.Status.Terminating))
		}
		return s.released()
	}}
}

// suspendedNow waits until the Job is suspended and its Pods are gone.
func suspendedNow() step {
	return step{name: "suspended", when: func(s subject) error {
		status := s.job.Status
		if !harness.HasCondition(s.job, batchv1.JobSuspended) || status.Active != 0 || value(status.Terminating) != 0 {
			return fmt.Errorf("not suspended: active %d, terminating %d", status.Active, value(status.Terminating))
		}
		if len(s.pods) > 0 {
			return fmt.Errorf("pod %s is still there", s.pods[0].Name)
		}
		return nil
	}}
}

// waiting waits until the Job was looked at and has nothing running.
func waiting() step {
	return step{name: "waiting", when: func(s subject) error {
		if s.job.Status.StartTime == nil {
			return fmt.Errorf("the Job has no startTime")
		}
		return nil
	}}
}

// finished waits until the Job is over and its Pods are released.
func finished(condition batchv1.JobConditionType) step {
	return step{name: string(condition), when: func(s subject) error {
		if !harness.HasCondition(s.job, condition) {
			return fmt.Errorf("not %s", condition)
		}
		return s.released()
	}}
}

func value(pointer *int32) int32 {
	if pointer == nil {
		return -1
	}
	return *pointer
}

func uncounted(status batchv1.JobStatus) bool {
	pods := status.UncountedTerminatedPods
	return pods != nil && len(pods.Succeeded)+len(pods.Failed) > 0
}

func suspend(suspend bool) func(context.Context, subject) error {
	return patchJob(fmt.Sprintf(`{"spec":{"suspend":%t}}`, suspend))
}

func parallelism(n int) func(context.Context, subject) error {
	return patchJob(fmt.Sprintf(`{"spec":{"parallelism":%d}}`, n))
}

func patchJob(patch string) func(context.Context, subject) error {
	return func(ctx context.Context, s subject) error {
		_, err := stack.Kubernetes.BatchV1().Jobs(s.namespace).Patch(ctx, s.job.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
}

// deletePod deletes the Job's first Pod, as a person or a node drain does.
func deletePod(ctx context.Context, s subject) error {
	if len(s.pods) == 0 {
		return fmt.Errorf("job %s has no Pod", s.job.Name)
	}
	return stack.Kubernetes.CoreV1().Pods(s.namespace).Delete(ctx, s.pods[0].Name, metav1.DeleteOptions{})
}

// failOnePod makes the kubelet's part: one of the running Pods fails.
func failOnePod(ctx context.Context, s subject) error {
	if len(s.pods) == 0 {
		return fmt.Errorf("job %s has no Pod", s.job.Name)
	}
	_, err := stack.Kubernetes.CoreV1().Pods(s.namespace).Patch(ctx, s.pods[0].Name, types.StrategicMergePatchType,
		[]byte(`{"status":{"phase":"Failed"}}`), metav1.PatchOptions{}, "status")
	return err
}

// addCondition is what another controller or a person may do to a Job's status.
func addCondition(ctx context.Context, s subject) error {
	_, err := stack.Kubernetes.BatchV1().Jobs(s.namespace).Patch(ctx, s.job.Name, types.StrategicMergePatchType,
		[]byte(`{"status":{"conditions":[{"type":"example.com/Audited","status":"True","reason":"Test","message":"kept"}]}}`),
		metav1.PatchOptions{}, "status")
	return err
}

// names of the test cases double as Job names: a duplicate would test one twice.
func TestCaseNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, test := range testCases {
		if seen[test.name] {
			t.Errorf("two cases are named %s", test.name)
		}
		seen[test.name] = true
	}
}
