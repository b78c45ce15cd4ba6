package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

const (
	// jobsOfNone is how many Jobs of no CronJob there are, and podsOfEach how many Pods each has.
	jobsOfNone, podsOfEach = 100, 3
	// longestPod bounds how many seconds their Pods run: longer than most pauses.
	longestPod = 25
	// lastJob is how long before the end of the last minute the last of them is created, at least.
	lastJob = 30 * time.Second
	// createRetry is how long somebody waits who could not create one.
	createRetry = 500 * time.Millisecond
)

// plannedJob is a Job of no CronJob that is to be created at a time.
type plannedJob struct {
	at   time.Time
	name string
	spec batchv1.JobSpec
}

// planJobs draws when Jobs of no CronJob are created. Half of them are indexed; of the others two Pods run at a time.
func (c *chaos) planJobs() []plannedJob {
	var jobs []plannedJob
	for n := range jobsOfNone {
		at := c.first.Add(time.Duration(c.random.Int64N(int64(c.end.Sub(c.first) - lastJob))))
		shape := []harness.JobOption{harness.Indexed(podsOfEach)}
		if n%2 == 0 {
			shape = []harness.JobOption{harness.Completions(podsOfEach), harness.Parallelism(podsOfEach - 1)}
		}
		spec := harness.JobSpec(append(shape, harness.RunSeconds(1+c.random.IntN(longestPod)), harness.BackoffLimit(0))...)
		spec.ManagedBy = ptr.To(names.JobController)
		jobs = append(jobs, plannedJob{at: at, name: fmt.Sprintf("job-%03d", n), spec: spec})
		c.jobs = append(c.jobs, jobs[n].name)
	}
	slices.SortFunc(jobs, func(a, b plannedJob) int { return a.at.Compare(b.at) })
	return jobs
}

// createJobs creates Jobs at their times, again while the API server does not answer.
func (c *chaos) createJobs(t *testing.T, jobs []plannedJob) {
	for _, planned := range jobs {
		sleepUntil(t.Context(), planned.at)
		err := harness.Poll(t.Context(), createRetry, harness.AfterOutage, func(ctx context.Context) error {
			_, err := stack.Kubernetes.BatchV1().Jobs(c.namespace).Create(ctx,
				&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: planned.name}, Spec: planned.spec}, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				// An answer may be lost.
				return nil
			}
			return err
		})
		if err != nil {
			t.Errorf("create Job %s: %v", planned.name, err)
		}
	}
}

// accountsForJobs waits until the Jobs of no CronJob are Complete, and checks that each had its Pods, none of them twice.
func (c *chaos) accountsForJobs(t *testing.T, jobs []plannedJob) {
	t.Helper()
	for _, planned := range jobs {
		harness.Eventually(t, settling, func(ctx context.Context) error {
			return stack.JobHas(ctx, c.namespace, planned.name, batchv1.JobComplete)
		})
		job, err := stack.Kubernetes.BatchV1().Jobs(c.namespace).Get(t.Context(), planned.name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		status := job.Status
		uncounted := status.UncountedTerminatedPods
		if status.Succeeded != podsOfEach || status.Failed != 0 || status.Active != 0 || uncounted != nil && len(uncounted.Succeeded)+len(uncounted.Failed) > 0 {
			t.Errorf("Job %s: %+v", planned.name, status)
		}
		indexes := map[string]bool{}
		pods := c.record.Pods(planned.name)
		for _, pod := range pods {
			indexes[pod.Annotations[batchv1.JobCompletionIndexAnnotation]] = true
			if pod.Status.Phase != corev1.PodSucceeded {
				t.Errorf("Job %s: Pod %s is %s", planned.name, pod.Name, pod.Status.Phase)
			}
		}
		if indexed := planned.spec.CompletionMode != nil; len(pods) != podsOfEach || indexed && len(indexes) != podsOfEach {
			t.Errorf("Job %s had %d Pods of the indexes %v", planned.name, len(pods), indexes)
		}
	}
	c.everyRunHasOnePod(t)
	t.Logf("%d Jobs of no CronJob with %d Pods each", len(jobs), podsOfEach)
}

// everyRunHasOnePod checks that no run of a CronJob that is Complete had another number of Pods: nobody has deleted any.
func (c *chaos) everyRunHasOnePod(t *testing.T) {
	t.Helper()
	for _, job := range c.record.Jobs("") {
		if slices.Contains(c.jobs, job.Name) || !harness.HasCondition(job, batchv1.JobComplete) {
			continue
		}
		if pods := c.record.Pods(job.Name); len(pods) != 1 {
			t.Errorf("Job %s had %d Pods", job.Name, len(pods))
		}
	}
}

// keepsNoMore waits until each CronJob has no more Jobs than it keeps.
func (c *chaos) keepsNoMore(t *testing.T) {
	t.Helper()
	forgetful := map[string]bool{}
	for _, cronJob := range c.cronJobs {
		forgetful[cronJob.Name] = *cronJob.Spec.SuccessfulJobsHistoryLimit == 0
	}
	harness.Eventually(t, harness.Recovery, func(ctx context.Context) error {
		jobs, err := stack.Jobs(ctx, c.namespace)
		if err != nil {
			return err
		}
		for _, job := range jobs {
			if owner := metav1.GetControllerOf(&job); owner != nil && forgetful[owner.Name] {
				return fmt.Errorf("CronJob %s keeps no Jobs, and there is %s", owner.Name, job.Name)
			}
		}
		return nil
	})
}

// noWorkflowIsLeft waits until no workflow of a Job runs.
func (c *chaos) noWorkflowIsLeft(t *testing.T) {
	t.Helper()
	harness.Eventually(t, harness.Recovery, func(ctx context.Context) error {
		request := &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: client.DefaultNamespace, Query: fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running'", protocol.JobWorkflow),
		}
		open, err := stack.Temporal.ListWorkflow(ctx, request)
		if err != nil {
			return err
		}
		for _, execution := range open.GetExecutions() {
			if id := execution.GetExecution().GetWorkflowId(); strings.HasPrefix(id, harness.JobWorkflow(c.namespace, "")) {
				return errors.New(id + " runs")
			}
		}
		return nil
	})
}
