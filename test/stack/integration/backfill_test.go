package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// backfill sends the update and returns its answer.
func backfill(t *testing.T, namespace, name string, request protocol.BackfillRequest) (answer protocol.BackfillAnswer, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Prompt)
	defer cancel()
	handle, err := stack.Temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: harness.CronJobWorkflow(namespace, name), UpdateName: protocol.BackfillUpdate,
		WaitForStage: client.WorkflowUpdateStageCompleted, Args: []any{request},
	})
	if err == nil {
		err = handle.Get(ctx, &answer)
	}
	return answer, err
}

func newYear(year int) time.Time { return time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC) }

// Each time has its run, which sees that time; no more of them run at once than are to.
func TestBackfillRunsEachTimeOnce(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	alive := maxAlive(t, namespace)
	cronJob := harness.NewCronJob(namespace, "annual", harness.Yearly, harness.JobSpec(harness.RunSeconds(2)))
	cronJob.Spec.TimeZone, cronJob.Spec.ScheduledTimeVariable = ptr.To("UTC"), ptr.To("SCHEDULED_TIME")
	cronJob.Spec.SuccessfulJobsHistoryLimit = ptr.To(int32(10))
	stack.CreateCronJob(t, cronJob)
	awaitWorkflow(t, namespace, "annual")
	request := protocol.BackfillRequest{From: newYear(2020), To: newYear(2024), Parallelism: 2, DryRun: true}
	if answer, err := backfill(t, namespace, "annual", request); err != nil || answer.Accepted || answer.Runs != 5 {
		t.Fatalf("dry: %+v, error %v", answer, err)
	}
	request.DryRun = false
	if answer, err := backfill(t, namespace, "annual", request); err != nil || !answer.Accepted || answer.Runs != 5 {
		t.Fatalf("answer %+v, error %v", answer, err)
	}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return complete(ctx, namespace, 5) })
	if most := alive(); most > 2 {
		t.Errorf("%d runs were active at one time", most)
	}
	jobs, err := stack.Jobs(t.Context(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	var times []string
	for _, job := range jobs {
		at := job.Annotations[names.ScheduledTimestampAnnotation]
		times = append(times, at)
		variable := corev1.EnvVar{Name: "SCHEDULED_TIME", Value: at}
		if env := job.Spec.Template.Spec.Containers[0].Env; len(env) == 0 || env[0] != variable {
			t.Errorf("the run of %s has %+v", at, env)
		}
	}
	slices.Sort(times)
	if got, want := strings.Join(times, " "), "2020-01-01T00:00:00Z 2021-01-01T00:00:00Z 2022-01-01T00:00:00Z 2023-01-01T00:00:00Z 2024-01-01T00:00:00Z"; got != want {
		t.Errorf("times %s", got)
	}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		found, err := stack.CronJob(ctx, namespace, "annual")
		if err == nil && (found.Status.LastScheduleTime != nil || len(found.Status.RecentRuns) != 5 || found.Status.RecentRuns[0].Result != "Complete") {
			err = fmt.Errorf("status %+v", found.Status)
		}
		return err
	})
}

// What an object does not take is refused in the answer, and nothing runs.
func TestBackfillThatIsRefused(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	cronJob := harness.NewCronJob(namespace, "closed", harness.Yearly, harness.JobSpec())
	cronJob.Annotations = map[string]string{names.AcceptSignalsAnnotation: "trigger"}
	stack.CreateCronJob(t, cronJob)
	awaitWorkflow(t, namespace, "closed")
	for _, test := range []struct {
		request protocol.BackfillRequest
		want    string
	}{
		{protocol.BackfillRequest{From: newYear(2020), To: newYear(2024)}, "the object does not accept backfill"},
		{protocol.BackfillRequest{From: newYear(2020), To: time.Now().Add(time.Hour)}, "is in the future"},
	} {
		if answer, err := backfill(t, namespace, "closed", test.request); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("answer %+v, error %v, want %q", answer, err, test.want)
		}
	}
	if jobs, err := stack.Jobs(t.Context(), namespace); err != nil || len(jobs) != 0 {
		t.Errorf("%d Jobs, error %v", len(jobs), err)
	}
}
