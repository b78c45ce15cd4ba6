package parity

import (
	"context"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/dev/harness"
)

const unknown = "Unknown"

// refusedJobs are specs that no Job may have, whoever manages it.
var refusedJobs = map[string]batchv1.JobSpec{
	"parallelism below 0":           harness.JobSpec(harness.Parallelism(-1)),
	"completions below 0":           harness.JobSpec(harness.Completions(-1)),
	"back-off limit below 0":        harness.JobSpec(harness.BackoffLimit(-1)),
	"deadline below 0":              harness.JobSpec(harness.ActiveDeadline(-1)),
	"time to live below 0":          harness.JobSpec(harness.TTLAfterFinished(-1)),
	"restart policy Always":         harness.JobSpec(harness.RestartPolicy(corev1.RestartPolicyAlways)),
	"no restart policy":             harness.JobSpec(harness.RestartPolicy("")),
	"no container":                  harness.JobSpec(template(func(spec *corev1.PodSpec) { spec.Containers = nil })),
	"unknown completion mode":       harness.JobSpec(completionMode(unknown)),
	"unknown replacement policy":    harness.JobSpec(harness.PodReplacementPolicy(unknown)),
	"selector of its own":           harness.JobSpec(harness.ManualSelector(map[string]string{"app": "x"}), manualSelector(false)),
	"no selector":                   harness.JobSpec(manualSelector(true)),
	"selector that does not match":  harness.JobSpec(harness.ManualSelector(map[string]string{"app": "x"}), podLabels(map[string]string{"app": "y"})),
	"job-name label of another Job": harness.JobSpec(podLabels(map[string]string{"job-name": "other"})),
	"controller-uid of another Job": harness.JobSpec(podLabels(map[string]string{"controller-uid": "other"})),

	"indexed without completions":                    harness.JobSpec(completionMode(batchv1.IndexedCompletion), harness.Parallelism(1)),
	"indexed with too much parallelism":              harness.JobSpec(harness.Indexed(5), harness.Parallelism(100001)),
	"back-off limit per index below 0":               harness.JobSpec(harness.Indexed(2), harness.BackoffLimitPerIndex(-1)),
	"back-off limit per index without indexes":       harness.JobSpec(harness.BackoffLimitPerIndex(1)),
	"failed indexes without limit per index":         harness.JobSpec(harness.Indexed(2), harness.MaxFailedIndexes(1)),
	"failed indexes without indexes":                 harness.JobSpec(harness.MaxFailedIndexes(1)),
	"failed indexes below 0":                         harness.JobSpec(harness.Indexed(2), harness.BackoffLimitPerIndex(1), harness.MaxFailedIndexes(-1)),
	"more failed indexes than completions":           harness.JobSpec(harness.Indexed(2), harness.BackoffLimitPerIndex(1), harness.MaxFailedIndexes(3)),
	"very many indexes without failed indexes":       harness.JobSpec(veryMany, harness.Parallelism(1), harness.BackoffLimitPerIndex(1)),
	"very many indexes with too many failed indexes": harness.JobSpec(veryMany, harness.Parallelism(1), harness.BackoffLimitPerIndex(1), harness.MaxFailedIndexes(10001)),
	"very many indexes with too much parallelism":    harness.JobSpec(veryMany, harness.Parallelism(10001), harness.BackoffLimitPerIndex(1), harness.MaxFailedIndexes(10)),

	"failure policy with OnFailure":           harness.JobSpec(onFailure, harness.PodFailurePolicy(harness.OnExitCodes(failJob, in, 1))),
	"failure policy with TerminatingOrFailed": harness.JobSpec(replaceAtOnce, harness.PodFailurePolicy(harness.OnExitCodes(failJob, in, 1))),
	"FailIndex without limit per index":       harness.JobSpec(harness.Indexed(2), harness.PodFailurePolicy(harness.OnExitCodes(failIndex, in, 1))),
	"FailIndex without indexes":               harness.JobSpec(harness.PodFailurePolicy(harness.OnExitCodes(failIndex, in, 1))),
	"unknown action":                          harness.JobSpec(harness.PodFailurePolicy(harness.OnExitCodes(unknown, in, 1))),
	"unknown operator":                        harness.JobSpec(harness.PodFailurePolicy(harness.OnExitCodes(failJob, unknown, 1))),
	"rule without requirement":                harness.JobSpec(harness.PodFailurePolicy(batchv1.PodFailurePolicyRule{Action: failJob})),
	"rule with two requirements":              harness.JobSpec(harness.PodFailurePolicy(twoRequirements())),
	"no exit codes":                           harness.JobSpec(harness.PodFailurePolicy(harness.OnExitCodes(failJob, in))),
	"exit code 0":                             harness.JobSpec(harness.PodFailurePolicy(harness.OnExitCodes(failJob, in, 0, 1))),
	"exit code twice":                         harness.JobSpec(harness.PodFailurePolicy(harness.OnExitCodes(failJob, in, 1, 1))),
	"exit codes in no order":                  harness.JobSpec(harness.PodFailurePolicy(harness.OnExitCodes(failJob, in, 2, 1))),
	"exit codes of an unknown container":      harness.JobSpec(harness.PodFailurePolicy(harness.OnExitCodesOf("nobody", failJob, in, 1))),
	"condition without type":                  harness.JobSpec(harness.PodFailurePolicy(harness.OnPodCondition(failJob, "", corev1.ConditionTrue))),
	"condition of an unknown status":          harness.JobSpec(harness.PodFailurePolicy(harness.OnPodCondition(failJob, example, unknown+"!"))),
	"more than twenty rules":                  harness.JobSpec(harness.PodFailurePolicy(manyRules(21)...)),
	"success policy without indexes":          harness.JobSpec(harness.SuccessPolicy(harness.SucceededCount(1))),
	"success policy without rules":            harness.JobSpec(harness.Indexed(2), harness.SuccessPolicy()),
	"success rule without requirement":        harness.JobSpec(harness.Indexed(2), harness.SuccessPolicy(batchv1.SuccessPolicyRule{})),
	"success of an index out of range":        harness.JobSpec(harness.Indexed(2), harness.SuccessPolicy(harness.SucceededIndexes("2"))),
	"success of indexes in no order":          harness.JobSpec(harness.Indexed(5), harness.SuccessPolicy(harness.SucceededIndexes("3,1"))),
	"success of overlapping indexes":          harness.JobSpec(harness.Indexed(5), harness.SuccessPolicy(harness.SucceededIndexes("0-2,2"))),
	"success of no number":                    harness.JobSpec(harness.Indexed(5), harness.SuccessPolicy(harness.SucceededIndexes("one"))),
	"success of more than completions":        harness.JobSpec(harness.Indexed(2), harness.SuccessPolicy(harness.SucceededCount(3))),
	"success of more than the indexes":        harness.JobSpec(harness.Indexed(5), harness.SuccessPolicy(harness.SucceededCountOf("0,1", 3))),
	"success of less than none":               harness.JobSpec(harness.Indexed(5), harness.SuccessPolicy(harness.SucceededCount(-1))),
}

// veryMany is more indexes than a Job may have without limits.
var veryMany = harness.Indexed(100001)

func completionMode(mode batchv1.CompletionMode) harness.JobOption {
	return func(spec *batchv1.JobSpec) { spec.CompletionMode = &mode }
}

func manualSelector(manual bool) harness.JobOption {
	return func(spec *batchv1.JobSpec) { spec.ManualSelector = &manual }
}

func podLabels(labels map[string]string) harness.JobOption {
	return func(spec *batchv1.JobSpec) { spec.Template.Labels = labels }
}

func twoRequirements() batchv1.PodFailurePolicyRule {
	rule := harness.OnExitCodes(failJob, in, 1)
	rule.OnPodConditions = harness.OnPodCondition(failJob, example, corev1.ConditionTrue).OnPodConditions
	return rule
}

func manyRules(count int) []batchv1.PodFailurePolicyRule {
	var rules []batchv1.PodFailurePolicyRule
	for n := range count {
		rules = append(rules, harness.OnExitCodes(failJob, in, int32(n+1)))
	}
	return rules
}

// What Kubernetes refuses is refused for Jobs that Ostinato manages as well, in the same words.
func TestJobsAreRefusedAlike(t *testing.T) {
	namespace := stack.Namespace(t)
	for name, spec := range refusedJobs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refusedAlike(t, func(ctx context.Context, managedBy *string) error {
				job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "refused"}, Spec: *spec.DeepCopy()}
				job.Spec.ManagedBy = managedBy
				_, err := stack.Kubernetes.BatchV1().Jobs(namespace).Create(ctx, job, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				return err
			})
		})
	}
}

// refusedEdits are merge patches of the spec of a Job that runs.
var refusedEdits = map[string]string{
	"managedBy":                    `{"managedBy":"example.com/another"}`,
	"completion mode":              `{"completionMode":"NonIndexed"}`,
	"completions alone":            `{"completions":3}`,
	"completions less than 0":      `{"completions":-1,"parallelism":-1}`,
	"selector":                     `{"selector":{"matchLabels":{"app":"x"}}}`,
	"failure policy":               `{"podFailurePolicy":{"rules":[]}}`,
	"failure policy taken away":    `{"podFailurePolicy":null}`,
	"success policy":               `{"successPolicy":{"rules":[{"succeededCount":2}]}}`,
	"back-off limit per index":     `{"backoffLimitPerIndex":2}`,
	"image":                        `{"template":{"spec":{"containers":[{"name":"main","image":"busybox:2"}]}}}`,
	"node selector":                `{"template":{"spec":{"nodeSelector":{"type":"kwok"}}}}`,
	"labels of Pods":               `{"template":{"metadata":{"labels":{"a":"b"}}}}`,
	"restart policy":               `{"template":{"spec":{"restartPolicy":"OnFailure"}}}`,
	"replacement policy":           `{"podReplacementPolicy":"TerminatingOrFailed"}`,
	"parallelism below 0":          `{"parallelism":-1}`,
	"deadline below 0":             `{"activeDeadlineSeconds":-1}`,
	"back-off limit below 0":       `{"backoffLimit":-1}`,
	"time to live below 0":         `{"ttlSecondsAfterFinished":-1}`,
	"failed indexes below 0":       `{"maxFailedIndexes":-1}`,
	"more failed than completions": `{"maxFailedIndexes":3}`,
}

// What may not be edited may not be for Jobs that Ostinato manages either.
func TestEditsAreRefusedAlike(t *testing.T) {
	// Without Pods: kube-controller-manager may keep those that fail with the Job's
	// deletion, which the namespace would then wait for.
	spec := endless(harness.Indexed(2), harness.Parallelism(0), harness.BackoffLimitPerIndex(1), harness.MaxFailedIndexes(1),
		harness.PodFailurePolicy(harness.OnExitCodes(failJob, in, 42)), harness.SuccessPolicy(harness.SucceededCount(1)))
	edited := map[*string]string{} // the namespaces, by managedBy
	for _, controller := range controllers {
		namespace := stack.Namespace(t)
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "edited"}, Spec: *spec.DeepCopy()}
		job.Spec.ManagedBy = controller.managedBy
		if _, err := stack.Kubernetes.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		edited[controller.managedBy] = namespace
	}
	for name, patch := range refusedEdits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refusedAlike(t, func(ctx context.Context, managedBy *string) error {
				_, err := stack.Kubernetes.BatchV1().Jobs(edited[managedBy]).Patch(ctx, "edited", types.MergePatchType,
					[]byte(`{"spec":`+patch+`}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
				return err
			})
		})
	}
}

// refusedAlike asserts that the API server says the same to both, and that it is no.
func refusedAlike(t *testing.T, try func(ctx context.Context, managedBy *string) error) {
	t.Helper()
	var words []string
	for _, controller := range controllers {
		err := try(t.Context(), controller.managedBy)
		if !apierrors.IsInvalid(err) {
			t.Fatalf("%s: not refused as invalid: %v", controller.name, err)
		}
		words = append(words, uid.ReplaceAllString(err.Error(), "<a UID>"))
	}
	if words[0] != words[1] {
		t.Errorf("said for kube-controller-manager:\n%s\nfor Ostinato:\n%s", words[0], words[1])
	}
}
