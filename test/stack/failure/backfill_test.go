package failure

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// The only worker is killed again and again while past times are run one after the other:
// each time has one Job.
func TestWorkerKilledWhileTimesAreBackfilled(t *testing.T) {
	disrupts(t)
	namespace := stack.Namespace(t)
	record := stack.Record(t, namespace)
	cronJob := harness.NewCronJob(namespace, "annual", harness.Yearly, harness.JobSpec(harness.RunSeconds(1)), harness.Policy(batchv1.ForbidConcurrent))
	cronJob.Spec.TimeZone, cronJob.Spec.SuccessfulJobsHistoryLimit = ptr.To("UTC"), ptr.To(int32(20))
	stack.AddCronJob(t, cronJob)
	newYear := func(year int) time.Time { return time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC) }
	const first, last = 2017, 2025
	if _, err := stack.Temporal.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: harness.CronJobWorkflow(namespace, "annual"), UpdateName: protocol.BackfillUpdate,
		WaitForStage: client.WorkflowUpdateStageCompleted, Args: []any{protocol.BackfillRequest{From: newYear(first), To: newYear(last)}},
	}); err != nil {
		t.Fatal(err)
	}
	for _, made := range []int{1, 3, 6} {
		asSoonAs(t, fmt.Sprintf("%d Jobs exist", made), func() bool { return len(record.Jobs("annual")) >= made })
		killWorker(t, 0)
		startWorker(t)
	}
	harness.Eventually(t, 2*harness.Recovery, func(context.Context) error {
		if jobs := record.Jobs("annual"); len(jobs) < last-first+1 {
			return fmt.Errorf("Jobs %v", jobNames(jobs))
		}
		return nil
	})
	times := map[string]string{}
	for _, job := range record.Jobs("annual") {
		at := job.Annotations[names.ScheduledTimestampAnnotation]
		if times[at] != "" {
			t.Errorf("%s has the Jobs %s and %s", at, times[at], job.Name)
		}
		times[at] = job.Name
		finishesOnce(t, record, namespace, job.Name, harness.Recovery)
	}
	for year := first; year <= last; year++ {
		if at := newYear(year).Format(time.RFC3339); times[at] == "" {
			t.Errorf("%s has no Job", at)
		}
	}
}
