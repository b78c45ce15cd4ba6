package tenant

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
)

const (
	// creators is how many clients create objects at a time.
	creators = 8
	// maxHistory is how large the history of a Job's workflow may be, in bytes, whatever
	// the policies of the Job: a few events of some kilobytes.
	maxHistory = 64 << 10
	// maxFatGrowth is how much more memory a process may have while it works on Jobs of 1.3 MB, in bytes. It has 64
	// activities at a time. Each reads, decodes and writes a Job, and decodes the answer; some of it is garbage by then.
	// New Jobs are also read by the 32 goroutines that make their first Pods.
	maxFatGrowth    = 64 * 7 * 1_300_000
	maxNewFatGrowth = maxFatGrowth + 32*7*1_300_000
	// fat bounds work on a hundred Jobs of 1.3 MB. The API server decodes, validates and stores each of them several times.
	fat = 3 * harness.Bulk
)

// fatRules are nineteen rules of a success policy, each of the largest size that the API
// server takes, 64 KiB; the indexes of none are completed soon.
func fatRules() (rules []batchv1.SuccessPolicyRule) {
	var indexes strings.Builder
	for index := 10_000; indexes.Len() < 64<<10-len(",99999"); index += 2 {
		if indexes.Len() > 0 {
			indexes.WriteByte(',')
		}
		fmt.Fprint(&indexes, index)
	}
	for range 19 {
		rules = append(rules, harness.SucceededIndexes(indexes.String()))
	}
	return rules
}

// fatJob is a Job of 1.3 MB that is done as soon as its first index is.
func fatJob(name string, options ...harness.JobOption) *batchv1.Job {
	rules := append(fatRules(), harness.SucceededIndexes("0"))
	options = append([]harness.JobOption{harness.Indexed(100_000), harness.Parallelism(1), harness.RunSeconds(1), harness.SuccessPolicy(rules...)}, options...)
	spec := harness.JobSpec(options...)
	spec.ManagedBy = ptr.To(names.JobController)
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
}

// create creates Jobs, creators of them at a time.
func create(t *testing.T, namespace string, count int, job func(i int) *batchv1.Job) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(creators)
	for i := range count {
		group.Go(func() error {
			_, err := stack.Kubernetes.BatchV1().Jobs(namespace).Create(t.Context(), job(i), metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// historySize returns the size of the history of a Job's workflow, in bytes.
func historySize(ctx context.Context, namespace, job string) (int64, error) {
	description, err := stack.Temporal.DescribeWorkflowExecution(ctx, harness.JobWorkflow(namespace, job), "")
	if err != nil {
		return 0, err
	}
	return description.GetWorkflowExecutionInfo().GetHistorySizeBytes(), nil
}

func TestPoliciesOfMegabytesTakeNoMemory(t *testing.T) {
	takesNoMemory(t, maxFatGrowth, harness.Suspended(), func(status batchv1.JobStatus) bool { return len(status.Conditions) > 0 })
}

// The watch keeps new Jobs until their workflows have begun. They make no Pods here, which would cause more statuses than etcd holds.
func TestNewJobsOfMegabytesTakeNoMemory(t *testing.T) {
	takesNoMemory(t, maxNewFatGrowth, harness.Parallelism(0), func(status batchv1.JobStatus) bool { return status.StartTime != nil })
}

// takesNoMemory creates Jobs of 1.3 MB and waits until all have begun.
func takesNoMemory(t *testing.T, growth uint64, option harness.JobOption, begun func(batchv1.JobStatus) bool) {
	t.Helper()
	namespace := stack.Namespace(t)
	// etcd's 2 GiB hold each twice, as it was created and with its status.
	count := min(harness.Size(50), 450)
	below := stack.MeasureMemory(t)
	create(t, namespace, count, func(i int) *batchv1.Job { return fatJob(fmt.Sprintf("fat-%d", i), option) })
	for i := range count {
		harness.Eventually(t, fat, func(ctx context.Context) error {
			made, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(ctx, fmt.Sprintf("fat-%d", i), metav1.GetOptions{ResourceVersion: "0"})
			if err == nil && !begun(made.Status) {
				err = fmt.Errorf("job %s has not begun", made.Name)
			}
			return err
		})
	}
	below(growth)
}

// largestFailurePolicy is one of 130 kB, the largest that the API server takes: twenty rules of twenty conditions.
func largestFailurePolicy() harness.JobOption {
	var rules []batchv1.PodFailurePolicyRule
	for rule := range 20 {
		all := batchv1.PodFailurePolicyRule{Action: batchv1.PodFailurePolicyActionIgnore}
		for condition := range 20 {
			name := fmt.Sprintf("c%d.r%d.%s/%s", condition, rule, strings.Repeat(strings.Repeat("x", 49)+".", 4)+"example", strings.Repeat("y", 63))
			all.OnPodConditions = append(all.OnPodConditions, batchv1.PodFailurePolicyOnPodConditionsPattern{
				Type: corev1.PodConditionType(name), Status: corev1.ConditionTrue,
			})
		}
		rules = append(rules, all)
	}
	return harness.PodFailurePolicy(rules...)
}

// The bridge leaves a failure policy of this size out of its messages; the workflow gets it from the activity that reads the Job.
func TestFailurePoliciesOfTheLargestSizeTakeLittleMemory(t *testing.T) {
	namespace := stack.Namespace(t)
	count := harness.Size(100)
	below := stack.MeasureMemory(t)
	create(t, namespace, count, func(i int) *batchv1.Job {
		spec := harness.JobSpec(harness.Suspended(), largestFailurePolicy())
		spec.ManagedBy = ptr.To(names.JobController)
		return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("strict-%d", i)}, Spec: spec}
	})
	for i := range count {
		harness.Eventually(t, harness.Bulk, func(ctx context.Context) error {
			return stack.JobHas(ctx, namespace, fmt.Sprintf("strict-%d", i), batchv1.JobSuspended)
		})
	}
	// Each sleeping workflow keeps the policy in memory, as long as --sticky-cache-memory leaves room for all.
	below(uint64(harness.Size(maxGrowth)))
}

func TestEditsOfAJobWithMegabytesOfPolicyAreSmall(t *testing.T) {
	namespace := stack.Namespace(t)
	create(t, namespace, 1, func(int) *batchv1.Job { return fatJob("fat", harness.Suspended()) })
	jobs := stack.Kubernetes.BatchV1().Jobs(namespace)
	for parallelism := range 10 {
		patch := fmt.Appendf(nil, `{"spec":{"parallelism":%d}}`, parallelism+2)
		if _, err := jobs.Patch(t.Context(), "fat", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		return stack.JobHas(ctx, namespace, "fat", batchv1.JobSuspended)
	})
	size, err := historySize(t.Context(), namespace, "fat")
	if err != nil || size > maxHistory {
		t.Errorf("the history has %d bytes, want %d at most; error %v", size, maxHistory, err)
	}
}

func TestTheLastOfMegabytesOfRulesIsMet(t *testing.T) {
	namespace := stack.Namespace(t)
	create(t, namespace, 1, func(int) *batchv1.Job { return fatJob("fat") })
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		return stack.JobHas(ctx, namespace, "fat", batchv1.JobComplete)
	})
	found, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(t.Context(), "fat", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if found.Status.Succeeded != 1 || found.Status.CompletedIndexes != "0" {
		t.Errorf("%d succeeded, indexes %s; want the first", found.Status.Succeeded, found.Status.CompletedIndexes)
	}
	for _, condition := range found.Status.Conditions {
		if condition.Type == batchv1.JobSuccessCriteriaMet && condition.Message != "Matched rules at index 19" {
			t.Errorf("%s says %q", condition.Type, condition.Message)
		}
	}
	size, err := historySize(t.Context(), namespace, "fat")
	if err != nil || size > maxHistory {
		t.Errorf("the history has %d bytes, want %d at most; error %v", size, maxHistory, err)
	}
}
