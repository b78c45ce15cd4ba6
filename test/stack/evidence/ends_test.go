package evidence

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
)

// patience is how long a run may take to end: forty of them share a machine and a node that starts few containers at a
// time.
const patience = 6 * time.Minute

// said is the last line of each log.
const said = "waiting for the lock"

// end is a way in which a run ends.
type end struct {
	job []harness.JobOption
	// act ends what runs, once a container of its Pod has said what it says.
	act func(t *testing.T, pod *corev1.Pod, owner *batchv1.Job)
	// why is a pattern of what the result, or else the attempt, says. log is the last line that is kept of the log; "-"
	// for none, "?" for none where noLog matches the reason. ended is why the attempt was ended, or one of several
	// reasons.
	why, log, noLog, ended string
}

// ends are the ways. What ends by itself has one attempt, unless it says otherwise.
var ends = map[string]end{
	"exit 1": {
		job: script("exit 1"),
		why: `^exit 1: waiting for the lock \(BackoffLimitExceeded\)$`,
	},
	"exit 2": {
		job: script("exit 2"),
		why: `^exit 2: waiting for the lock \(BackoffLimitExceeded\)$`,
	},
	"exit 3, silently": {job: silent("exit 3"), why: `^exit 3 \(BackoffLimitExceeded\)$`, log: "-"},
	"exit 127 of a shell": {
		job: silent("no-such-program"),
		why: `^exit 127: .*no-such-program.* \(BackoffLimitExceeded\)$`, log: "no-such-program",
	},
	"exit 137 of its own":      {job: script("exit 137"), why: `^exit 137: waiting`},
	"exit 139, as of a signal": {job: script("exit 139"), why: `^exit 139: waiting`},
	"exit 255":                 {job: script("exit 255"), why: `^exit 255: waiting`},
	"a termination message": {
		job: script("echo out of stock > /dev/termination-log; exit 4"),
		why: `^exit 4: out of stock \(BackoffLimitExceeded\)$`,
	},
	"a program that is missing": {
		job: command("pg_dump"),
		why: `^exit 128 (StartError|ContainerCannotRun): .*pg_dump.*not found.* \(Back`, log: "-",
	},
	"a program that is no program": {
		job: command("/etc/hostname"),
		why: `^exit 128 (StartError|ContainerCannotRun): .*permission denied.* \(Back`, log: "-",
	},
	"out of memory": {
		job: with(script("x=x; while true; do x=$x$x; done"), container(func(c *corev1.Container) {
			c.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: quantity("40Mi")}
		})),
		why: `^exit 137 OOMKilled: waiting for the lock \(BackoffLimitExceeded\)$`,
	},
	"in an init container": {
		job: with(script("exit 0"), initContainer("migrate", "echo migrating; exit 5", false)),
		why: `^exit 5: migrating \(Back`, log: "migrating",
	},
	"beside a sidecar": {
		job: with(script("exit 6"), initContainer("proxy", hangs, true)),
		why: `^exit 6: waiting`,
	},
	"in the second container": {
		job: with(script("exit 0"), secondContainer("echo pushing; exit 7")),
		why: `^exit 7: pushing \(Back`, log: "pushing",
	},
	"after restarts in place": {
		job: with(script("exit 8"), harness.RestartPolicy(corev1.RestartPolicyOnFailure), harness.BackoffLimit(1)),
		why: `^exit 8: waiting`, ended: "BackoffLimitExceeded",
	},
	"by the Pod's own deadline": {
		job: with(script(hangs), template(func(pod *corev1.PodSpec) { pod.ActiveDeadlineSeconds = ptr.To(int64(4)) })),
		why: `^exit 143 DeadlineExceeded: Pod was active on the node longer .*\(Back`,
	},
	"evicted for what it writes": {
		job: with(script("while true; do echo 0123456789012345678901234567890123456789 >> /scratch/file; done"), scratch),
		why: `^(exit [0-9]+ )?Evicted: Usage of EmptyDir volume "scratch" exceeds the limit .*\(Back`, log: "?", noLog: "none any more",
	},

	"by a rule that fails the Job": {
		job: with(script("exit 42"), harness.PodFailurePolicy(harness.OnExitCodes(batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyOnExitCodesOpIn, 42)), harness.BackoffLimit(6)),
		why: `^exit 42: waiting for the lock \(PodFailurePolicy\)$`,
	},
	"beside one that fails the Job": {
		job: with(script("test $JOB_COMPLETION_INDEX = 1 && exit 42; "+hangs), harness.Indexed(2),
			harness.PodFailurePolicy(harness.OnExitCodes(batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyOnExitCodesOpIn, 42))),
		why: `^exit 42: waiting for the lock \(PodFailurePolicy\)$`, ended: "PodFailurePolicy",
	},
	"by a rule that fails the index": {
		job: with(script("exit 43"), harness.Indexed(1), harness.BackoffLimit(9), harness.BackoffLimitPerIndex(3),
			harness.PodFailurePolicy(harness.OnExitCodes(batchv1.PodFailurePolicyActionFailIndex, batchv1.PodFailurePolicyOnExitCodesOpIn, 43))),
		why: `^exit 43: waiting for the lock \(FailedIndexes\)$`,
	},
	"beyond the failed indexes": {
		job: with(script("exit 44"), harness.Indexed(1), harness.BackoffLimit(9), harness.BackoffLimitPerIndex(0), harness.MaxFailedIndexes(0)),
		why: `^exit 44: waiting for the lock \((MaxFailedIndexesExceeded|FailedIndexes)\)$`,
	},

	"by a deadline": {
		job: with(script(hangs), deadline),
		why: `^DeadlineExceeded after 12s: waiting for the lock$`, ended: "DeadlineExceeded",
	},
	"by a deadline, in an init container": {
		job: with(script("exit 0"), initContainer("wait", "echo waiting for the lock; "+hangs, false), deadline),
		why: `^DeadlineExceeded after 12s: waiting`, ended: "DeadlineExceeded",
	},
	"by a deadline, beside a sidecar": {
		job: with(script(hangs), initContainer("proxy", hangs, true), deadline),
		why: `^DeadlineExceeded after 12s: waiting`, ended: "DeadlineExceeded",
	},
	"by a deadline, restarted": {
		job: with(script("exit 1"), harness.RestartPolicy(corev1.RestartPolicyOnFailure), harness.BackoffLimit(100), deadline),
		why: `^DeadlineExceeded after 12s: waiting`, ended: "DeadlineExceeded",
	},
	"by a deadline, without a grace": {
		job: with(script(hangs), grace(0), deadline),
		why: `^DeadlineExceeded after 12s`, ended: "DeadlineExceeded", log: "?", noLog: "grace period of 0",
	},
	"by a deadline, without its ConfigMap": {
		job: with(script(hangs), configMap, deadline),
		why: `^DeadlineExceeded after 12s: CreateContainerConfigError: configmap "no-such" not found$`, ended: "DeadlineExceeded", log: "-",
	},
	"by a deadline, without a node": {
		job: with(script(hangs), nowhere, deadline),
		why: `^DeadlineExceeded after 12s: Unschedulable: .*node`, ended: "DeadlineExceeded", log: "-",
	},
	"by a deadline, its node being away": {
		job: with(script(hangs), template(func(pod *corev1.PodSpec) { pod.NodeName = "no-such-node" }), deadline),
		why: `^DeadlineExceeded after 12s: node no-such-node has not reported`, ended: "DeadlineExceeded", log: "-",
	},

	"unstarted, without its ConfigMap": {
		job: with(script(hangs), configMap, pendingDeadline),
		why: `^CreateContainerConfigError: configmap "no-such" not found \(Back`, ended: "PendingDeadlineExceeded", log: "-",
	},
	"unstarted, without its Secret": {
		job: with(script(hangs), secretVolume, pendingDeadline),
		why: `ContainerCreating.* \(Back`, ended: "PendingDeadlineExceeded", log: "-",
	},
	"unstarted, without its image": {
		job: with(script(hangs), image("busybox:no-such-tag"), pendingDeadline),
		why: `(ErrImageNeverPull|ErrImagePull|ImagePullBackOff).* \(Back`, ended: "PendingDeadlineExceeded", log: "-",
	},
	"unstarted, its image misnamed": {
		job: with(script(hangs), image("Busy Box"), pendingDeadline),
		why: `InvalidImageName.* \(Back`, ended: "PendingDeadlineExceeded", log: "-",
	},
	"unstarted, without a node": {
		job: with(script(hangs), nowhere, pendingDeadline),
		why: `Unschedulable.* \(Back`, ended: "PendingDeadlineExceeded", log: "-",
	},

	"its Pod deleted": {
		job: script(hangs),
		act: deletePod(nil),
		why: `^Pod deleted, exit 143: waiting for the lock \(Back`, ended: job.EndedPodDeleted,
	},
	"its Pod deleted by force": {
		job: script(hangs),
		act: deletePod(ptr.To(int64(0))),
		why: `^Pod deleted`, ended: job.EndedPodDeleted, log: "?", noLog: "grace period of 0",
	},
	"its Pod evicted by the API": {
		job: script(hangs),
		act: evict,
		why: `^Pod deleted, exit 143: waiting for the lock \(Back`, ended: job.EndedPodDeleted,
	},
	"its Pod deleted and waited for": {
		job: with(script(hangs), harness.PodReplacementPolicy(batchv1.Failed)),
		act: deletePod(nil),
		why: `^exit 143(: waiting for the lock)? \(Back`, log: "?", noLog: "none any more", // The node keeps no log when it is done.
	},
	"stopped by the annotation of its Job": {
		job: script(hangs),
		act: stop,
		why: `^Stopped$`, ended: event.Stopped,
	},
	"its Job deleted": {
		job: script(hangs),
		act: deleteJob(metav1.DeletePropagationBackground),
		why: `waiting for the lock$`, ended: job.EndedJobDeleted,
	},
	"its Job deleted in the foreground": {
		job: script(hangs),
		act: deleteJob(metav1.DeletePropagationForeground),
		why: `exit 143: waiting for the lock`, ended: "JobDeleted|PodDeleted",
	},
}

// TestEveryEndLeavesEvidence: forty ways, each in the container's words.
func TestEveryEndLeavesEvidence(t *testing.T) {
	namespace := stack.Namespace(t)
	for name, test := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer inTurn()()
			owner := stack.CreateJob(t, namespace, jobName(name), harness.JobSpec(append([]harness.JobOption{harness.BackoffLimit(0)}, test.job...)...))
			if test.act != nil {
				test.act(t, speaking(t, owner), owner)
			}
			judge(t, test, closing(t, namespace, owner.Name))
		})
	}
	t.Run("replaced by the next run", func(t *testing.T) {
		t.Parallel()
		defer inTurn()()
		cronJob := stack.AddCronJob(t, harness.NewCronJob(namespace, "replaced", harness.Yearly, harness.JobSpec(script(hangs)...), harness.Policy(batchv1.ReplaceConcurrent)))
		first := stack.Trigger(t, namespace, cronJob.Name)
		owner, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(t.Context(), first, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		speaking(t, owner)
		stack.Trigger(t, namespace, cronJob.Name)
		judge(t, end{why: `waiting for the lock$`, ended: job.EndedJobDeleted}, closing(t, namespace, first))
	})
}

// TestASuccessLeavesEvidenceIfItsCronJobAsks: nothing else reads the log of a Pod that has succeeded.
func TestASuccessLeavesEvidenceIfItsCronJobAsks(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	cronJob := harness.NewCronJob(namespace, "keeps", harness.Yearly, harness.JobSpec(script("exit 0")...))
	cronJob.Spec.Evidence.Successes = true
	stack.AddCronJob(t, cronJob)
	result := closing(t, namespace, stack.Trigger(t, namespace, cronJob.Name))
	if result.Outcome != job.Complete || len(result.Attempts) != 1 || result.Attempts[0].Ended != job.EndedSucceeded {
		t.Fatalf("result %+v", result)
	}
	if !strings.Contains(result.Attempts[0].Log, said) {
		t.Errorf("log %q (missing: %q)", result.Attempts[0].Log, result.Attempts[0].LogMissing)
	}
}

// TestASuccessLeavesNoEvidence: its log is nobody's.
func TestASuccessLeavesNoEvidence(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	owner := stack.CreateJob(t, namespace, "succeeds", harness.JobSpec(script("exit 0")...))
	if result := closing(t, namespace, owner.Name); result.Outcome != job.Complete || len(result.Attempts) != 0 || result.Why != "" {
		t.Errorf("result %+v", result)
	}
}

// turns are the runs that end at a time: a busy node starts containers late, and its deadlines find nothing that has
// begun.
var turns = make(chan struct{}, 6)

// inTurn waits for a turn, and returns what gives it back.
func inTurn() (done func()) {
	turns <- struct{}{}
	return func() { <-turns }
}

// judge compares what is left with what the test wants.
func judge(t *testing.T, test end, result job.Result) {
	t.Helper()
	var left *job.Attempt
	for i := range result.Attempts {
		if slices.Contains(strings.Split(test.ended, "|"), result.Attempts[i].Ended) {
			left = &result.Attempts[i]
		}
	}
	if left == nil {
		t.Fatalf("no attempt that was ended for %q: %+v", test.ended, result)
	}
	why := result.Why
	if result.Outcome == job.Deleted {
		why = left.Words()
	}
	if !regexp.MustCompile(test.why).MatchString(why) {
		t.Errorf("why %q, want a match of %s; attempt %+v", why, test.why, *left)
	}
	lines := strings.Split(left.Log, "\n")
	last, want := lines[len(lines)-1], test.log
	switch want {
	case "-":
		if left.Log != "" {
			t.Errorf("log %q, want none", left.Log)
		}
		return
	case "?":
		if left.LogMissing != "" && !regexp.MustCompile(test.noLog).MatchString(left.LogMissing) {
			t.Errorf("no log: %q, want a match of %s", left.LogMissing, test.noLog)
		}
		if left.LogMissing != "" {
			return
		}
	}
	if want == "" || want == "?" {
		want = said
	}
	if !strings.Contains(last, want) {
		t.Errorf("log %q (missing: %q), want its last line to say %q", left.Log, left.LogMissing, want)
	}
}

// closing waits for the end of a Job's workflow, and returns its result.
func closing(t *testing.T, namespace, name string) (result job.Result) {
	t.Helper()
	workflow := harness.JobWorkflow(namespace, name)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		err := stack.Temporal.GetWorkflow(ctx, workflow, "").Get(ctx, &result)
		var failed *temporal.ApplicationError
		switch {
		case err == nil:
			return result
		case errors.As(err, &failed):
			if err := failed.Details(&result); err != nil {
				t.Fatal(err)
			}
			return result
		case ctx.Err() != nil:
			job, _ := stack.Kubernetes.BatchV1().Jobs(namespace).Get(t.Context(), name, metav1.GetOptions{})
			t.Fatalf("the workflow has not ended after %s: %v; Job %+v", patience, err, job.Status)
		}
		time.Sleep(time.Second) // it has not begun
	}
}

// speaking waits until a container of the Job's Pod has said what it says, and returns the Pod.
func speaking(t *testing.T, owner *batchv1.Job) (pod *corev1.Pod) {
	t.Helper()
	harness.Eventually(t, patience, func(ctx context.Context) error {
		pods, err := stack.PodsOf(ctx, owner.Namespace, owner.Name)
		if err != nil || len(pods) == 0 {
			return fmt.Errorf("no Pod yet: %w", err)
		}
		pod = &pods[0]
		text, err := stack.Kubernetes.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
		if err != nil || !strings.Contains(string(text), said) {
			return fmt.Errorf("it has said %q: %w", text, err)
		}
		return nil
	})
	return pod
}

func deletePod(grace *int64) func(*testing.T, *corev1.Pod, *batchv1.Job) {
	return func(t *testing.T, pod *corev1.Pod, _ *batchv1.Job) {
		err := stack.Kubernetes.CoreV1().Pods(pod.Namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: grace})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func evict(t *testing.T, pod *corev1.Pod, _ *batchv1.Job) {
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	if err := stack.Kubernetes.PolicyV1().Evictions(pod.Namespace).Evict(t.Context(), eviction); err != nil {
		t.Fatal(err)
	}
}

func stop(t *testing.T, _ *corev1.Pod, owner *batchv1.Job) {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, names.StopAnnotation, job.Stop{By: "ada", Note: "it hangs"}.Annotation())
	_, err := stack.Kubernetes.BatchV1().Jobs(owner.Namespace).Patch(t.Context(), owner.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func deleteJob(policy metav1.DeletionPropagation) func(*testing.T, *corev1.Pod, *batchv1.Job) {
	return func(t *testing.T, _ *corev1.Pod, owner *batchv1.Job) {
		err := stack.Kubernetes.BatchV1().Jobs(owner.Namespace).Delete(t.Context(), owner.Name, metav1.DeleteOptions{PropagationPolicy: &policy})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func jobName(name string) string {
	return strings.Trim(regexp.MustCompile("[^a-z0-9]+").ReplaceAllString(strings.ToLower(name), "-"), "-")
}

var pendingDeadline = harness.PodAnnotation(names.PendingDeadlineAnnotation, "8")
