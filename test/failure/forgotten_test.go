package failure

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/devstack/process"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/test/harness"
)

// inOneTask is how many runs one workflow task starts, forgotten how many of their Jobs exist at least when its worker is
// killed.
const inOneTask, forgotten = 60, 10

// A workflow task that is repeated finds the Jobs that were made before, ended meanwhile, and deletes them for the history
// limit; and its worker is killed too. The third task finds none of them, and does not make them again.
func TestWorkerKilledAfterDeletingWhatAnotherHadStarted(t *testing.T) {
	disrupts(t)
	namespace := stack.Namespace(t)
	record := stack.Record(t, namespace)
	var deleted atomic.Int32
	stack.FollowJobs(t, namespace, func(_ *batchv1.Job, gone bool) {
		if gone {
			deleted.Add(1)
		}
	})
	cronJob := harness.NewCronJob(namespace, "busy", harness.Yearly, harness.JobSpec())
	cronJob.Spec.SuccessfulJobsHistoryLimit = ptr.To(int32(0))
	cronJob = stack.CreateCronJob(t, cronJob)
	harness.Eventually(t, harness.Recovery, func(ctx context.Context) error { return stack.Observed(ctx, namespace, cronJob.Name) })
	workflow := harness.CronJobWorkflow(namespace, cronJob.Name)

	killWorker(t, 0)
	for range inOneTask {
		stack.Signal(t, workflow, protocol.TriggerSignal, nil)
	}
	startWorker(t)
	asSoonAs(t, "the first Jobs are made", func() bool { return len(record.Jobs(cronJob.Name)) >= forgotten })
	killWorker(t, 0)

	made, err := stack.Jobs(t.Context(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	if len(made) == inOneTask {
		t.Fatalf("all %d Jobs are made: too late for a kill in the middle", inOneTask)
	}
	for i := range made {
		endByHand(t, &made[i])
		stack.Signal(t, workflow, protocol.JobClosedSignal, protocol.JobClosed{
			CronJobUID: string(cronJob.UID), Name: made[i].Name, Result: protocol.JobEnd{UID: string(made[i].UID), Outcome: job.Complete},
		})
	}
	startWorker(t)
	asSoonAs(t, "a Job is deleted for the history limit", func() bool { return deleted.Load() > 0 })
	killWorker(t, 0)
	startWorker(t)

	harness.Eventually(t, harness.Recovery+harness.Bulk, func(ctx context.Context) error {
		rows, err := stack.Ledger(ctx, namespace, cronJob.Name)
		if err == nil && len(rows) != inOneTask {
			err = fmt.Errorf("%d triggers have a row, want %d", len(rows), inOneTask)
		}
		return err
	})
	all := record.Jobs(cronJob.Name)
	distinct := map[string]bool{}
	for _, job := range all {
		distinct[job.Name] = true
	}
	if len(all) != inOneTask || len(distinct) != inOneTask {
		t.Errorf("%d Jobs of %d names were made for %d triggers", len(all), len(distinct), inOneTask)
	}
}

// endByHand writes that a Job is Complete, as its controller would.
func endByHand(t *testing.T, job *batchv1.Job) {
	t.Helper()
	now := metav1.Now()
	job.Status.StartTime, job.Status.CompletionTime, job.Status.Succeeded = &job.CreationTimestamp, &now, 1
	for _, condition := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: condition, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonCompletionsReached, LastTransitionTime: now,
		})
	}
	if _, err := stack.Kubernetes.BatchV1().Jobs(job.Namespace).UpdateStatus(t.Context(), job, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("end Job %s: %v", job.Name, err)
	}
}

// A worker stands still with a workflow task in its hands. Another one has the task repeated, and its run is over and its Job
// gone when the first one goes on: that one does not start the run again.
func TestWorkerThatStoodStillStartsNoRunAgain(t *testing.T) {
	disrupts(t)
	namespace := stack.Namespace(t)
	record := stack.Record(t, namespace)
	cronJob := harness.NewCronJob(namespace, "stale", harness.Yearly, harness.JobSpec())
	cronJob.Spec.SuccessfulJobsHistoryLimit = ptr.To(int32(0))
	stack.AddCronJob(t, cronJob)

	still := stack.Workers()[0]
	send := func(signal syscall.Signal) {
		if err := still.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	send(syscall.SIGSTOP)
	stack.Signal(t, harness.CronJobWorkflow(namespace, cronJob.Name), protocol.TriggerSignal, nil)
	startWorker(t)
	harness.Eventually(t, harness.Recovery, func(ctx context.Context) error {
		left, err := stack.Jobs(ctx, namespace)
		if made := len(record.Jobs(cronJob.Name)); err == nil && (made == 0 || len(left) > 0) {
			err = fmt.Errorf("%d Jobs were made, %d are left", made, len(left))
		}
		return err
	})
	send(syscall.SIGCONT)
	harness.Eventually(t, harness.Prompt, func(context.Context) error {
		if made := record.Jobs(cronJob.Name); len(made) > 1 {
			t.Fatalf("the run was started again: %v", jobNames(made))
		}
		return saidBy(still, "its workflow task was given up")
	})
}

// saidBy returns nil when the worker's log has the words.
func saidBy(worker *process.Process, words string) error {
	log, err := os.ReadFile(worker.LogFile())
	if err == nil && !strings.Contains(string(log), words) {
		err = fmt.Errorf("%s does not say %q", worker.Name(), words)
	}
	return err
}
