package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/testing/fixture/asking"
)

// TestOnlyAnObjectsOwnWorkflowIsServed: everything that is asked is what the object prescribes, and everyone may know it. What
// counts is who asks: no activity without a workflow, none of another workflow, and none of another type under the object's ID.
func TestOnlyAnObjectsOwnWorkflowIsServed(t *testing.T) {
	namespace, attacker := stack.Namespace(t), newAttacker(t)
	cronJob := stack.AddCronJob(t, harness.NewCronJob(namespace, "yearly", harness.Yearly, harness.JobSpec(harness.RunSeconds(600)), harness.Policy(batchv1.ForbidConcurrent)))
	ours := victim(t, namespace, "ours")
	status := ours.Status.DeepCopy()
	status.Failed = 1
	requests := everyActivity(referenceTo(ours), digestOf(ours), referenceTo(ours))
	requests[protocol.CarryOutActivity] = protocol.JobRequest{Job: referenceTo(ours), Digest: digestOf(ours), Status: status}
	ofCronJob, digest := referenceTo(cronJob), schedule.SpecOf(cronJob).Digest()
	requests[protocol.StartRunActivity] = protocol.StartRunRequest{CronJob: ofCronJob, Digest: digest, Start: triggered(cronJob, ofCronJob, 1)}
	requests[protocol.WriteStatusActivity] = protocol.WriteStatusRequest{CronJob: ofCronJob, Digest: digest, Status: cronJob.Status.DeepCopy()}
	requests[protocol.FindRunsActivity] = protocol.FindRunsRequest{CronJob: ofCronJob, Digest: digest, All: true}
	refused := refusals(t)
	for activity, request := range requests {
		own := asking.Own(request)
		t.Run(activity, func(t *testing.T) {
			attacker.both(t, activity, request, wantOther)
			t.Run("another type under its ID", func(t *testing.T) {
				wantOther(t, attacker.askAs(t, asking.Workflow{Type: "Attack", ID: own.ID}, activity, request))
			})
		})
	}
	if after := refusals(t); after < refused+3*len(requests) {
		t.Errorf("%d refusals were counted, want %d", after-refused, 3*len(requests))
	}
	if err := stack.PodsAre(t.Context(), namespace, ours.Name, corev1.PodRunning, 1); err != nil {
		t.Error(err)
	}
	found, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(t.Context(), ours.Name, metav1.GetOptions{})
	if err != nil || found.Status.Failed != 0 {
		t.Errorf("error %v, status %+v", err, found.Status)
	}
	wantNoRun(t, cronJob)
}

func wantOther(t *testing.T, given answer) {
	t.Helper()
	wantRefused(t, given, activities.OtherWorkflowErrorType)
}

// refusals is how many requests of others than an object's own workflow the workers have counted.
func refusals(t *testing.T) (sum int) {
	t.Helper()
	for _, worker := range stack.Workers() {
		for line := range strings.Lines(exposed(t, worker.Name())) {
			if !strings.HasPrefix(line, "ostinato_requests_refused_total{") || !strings.Contains(line, `reason="`+activities.OtherWorkflowErrorType+`"`) {
				continue
			}
			var count float64
			if _, err := fmt.Sscan(line[strings.LastIndex(line, " "):], &count); err != nil {
				t.Fatal(err)
			}
			sum += int(count)
		}
	}
	return sum
}

// TestManyTriggersMakeNoJobs: sixty starts of made-up triggers, beside one another, under Forbid.
func TestManyTriggersMakeNoJobs(t *testing.T) {
	namespace := stack.Namespace(t)
	cronJob := stack.AddCronJob(t, harness.NewCronJob(namespace, "forbid", harness.Yearly, harness.JobSpec(harness.RunSeconds(600)), harness.Policy(batchv1.ForbidConcurrent)))
	const count = 60
	var handles []client.ActivityHandle
	for n := range count {
		handle, err := stack.Temporal.ExecuteActivity(t.Context(), client.StartActivityOptions{
			ID: fmt.Sprintf("bomb-%s-%d", namespace, n), TaskQueue: names.Cluster("").ControlTaskQueue(), StartToCloseTimeout: answers / 2,
			ScheduleToCloseTimeout: answers, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
		}, protocol.StartRunActivity, protocol.StartRunRequest{
			CronJob: referenceTo(cronJob), Digest: schedule.SpecOf(cronJob).Digest(), Start: triggered(cronJob, referenceTo(cronJob), int64(n)+1),
		})
		if err != nil {
			t.Fatal(err)
		}
		handles = append(handles, handle)
	}
	for _, handle := range handles {
		wantOther(t, answered(nil, handle.Get(t.Context(), nil)))
	}
	wantNoRun(t, cronJob)
}

// TestNoForgedTimeKeepsARunFromStarting: the status says that the next run has been, or that all runs for a long time have.
func TestNoForgedTimeKeepsARunFromStarting(t *testing.T) {
	t.Parallel()
	namespace, attacker := stack.Namespace(t), newAttacker(t)
	cronJob := stack.AddCronJob(t, harness.NewCronJob(namespace, "minutely", "* * * * *", harness.JobSpec(harness.RunSeconds(1))))
	ahead := metav1.NewTime(time.Now().UTC().Truncate(time.Minute).Add(3 * time.Minute))
	for what, forge := range map[string]func(*protocol.WriteStatusRequest){
		"lastScheduleTime": func(request *protocol.WriteStatusRequest) { request.Status.LastScheduleTime = &ahead },
		"accountedUntil":   func(request *protocol.WriteStatusRequest) { request.Status.AccountedUntil = &ahead },
	} {
		current, err := stack.CronJob(t.Context(), namespace, cronJob.Name)
		if err != nil {
			t.Fatal(err)
		}
		request := protocol.WriteStatusRequest{CronJob: referenceTo(cronJob), Digest: schedule.SpecOf(cronJob).Digest(), Status: current.Status.DeepCopy()}
		forge(&request)
		if written := tells[protocol.WriteStatusResult](t, attacker.ask(t, protocol.WriteStatusActivity, request)); written.StatusFailed == "" {
			t.Errorf("%s was written", what)
		}
	}
	wantRuns(t, namespace, cronJob.Name)
}

// TestLastScheduleTimeNeverFalls, by whoever writes the status: runs of earlier times would start again.
func TestLastScheduleTimeNeverFalls(t *testing.T) {
	t.Parallel()
	namespace, attacker := stack.Namespace(t), newAttacker(t)
	cronJob := stack.AddCronJob(t, harness.NewCronJob(namespace, "minutely", "* * * * *", harness.JobSpec(harness.RunSeconds(1))))
	wantRuns(t, namespace, cronJob.Name)
	ran, err := stack.CronJob(t.Context(), namespace, cronJob.Name)
	if err != nil {
		t.Fatal(err)
	}
	earlier := metav1.NewTime(ran.Status.LastScheduleTime.Add(-time.Hour))
	status := ran.Status.DeepCopy()
	status.LastScheduleTime = &earlier
	attacker.ask(t, protocol.WriteStatusActivity, protocol.WriteStatusRequest{CronJob: referenceTo(cronJob), Digest: schedule.SpecOf(ran).Digest(), Status: status})
	after, err := stack.CronJob(t.Context(), namespace, cronJob.Name)
	if err != nil {
		t.Fatal(err)
	}
	if after.Status.LastScheduleTime.Before(ran.Status.LastScheduleTime) {
		t.Errorf("lastScheduleTime was %s, and is %s", ran.Status.LastScheduleTime, after.Status.LastScheduleTime)
	}
	after.Status.LastScheduleTime = &earlier
	_, err = stack.CronJobs.CronJobs(namespace).UpdateStatus(t.Context(), after, metav1.UpdateOptions{})
	if err == nil || !strings.Contains(err.Error(), "lastScheduleTime never falls") {
		t.Errorf("an administrator lowers lastScheduleTime: error %v", err)
	}
}

// TestNoForgedRevisionStopsACronJob: a status is written on the basis of a revision that is far ahead. The object's rises
// by no more than the schema allows an administrator, and the CronJob goes on.
func TestNoForgedRevisionStopsACronJob(t *testing.T) {
	t.Parallel()
	namespace, attacker := stack.Namespace(t), newAttacker(t)
	cronJob := stack.AddCronJob(t, harness.NewCronJob(namespace, "minutely", "* * * * *", harness.JobSpec(harness.RunSeconds(1))))
	before, err := stack.CronJob(t.Context(), namespace, cronJob.Name)
	if err != nil {
		t.Fatal(err)
	}
	request := protocol.WriteStatusRequest{
		CronJob: referenceTo(cronJob), Digest: schedule.SpecOf(cronJob).Digest(), Basis: schedule.Basis{Revision: schedule.MaxRevision},
		Status: before.Status.DeepCopy(),
	}
	given := attacker.ask(t, protocol.WriteStatusActivity, request)
	after, err := stack.CronJob(t.Context(), namespace, cronJob.Name)
	if err != nil {
		t.Fatal(err)
	}
	if rise := after.Status.Revision - before.Status.Revision; rise < 0 || rise > 1_000_000 {
		t.Errorf("revision was %d, and is %d, after the answer %s %s", before.Status.Revision, after.Status.Revision, given.Result, given.Error)
	}
	for message, revision := range map[string]int64{
		"revision never falls":        after.Status.Revision - 1,
		"it rises by 1000000 at most": after.Status.Revision + 1_100_000,
	} {
		patch := fmt.Appendf(nil, `{"status":{"revision":%d}}`, revision)
		_, err := stack.CronJobs.CronJobs(namespace).Patch(t.Context(), cronJob.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("an administrator writes revision %d: error %v, want %q", revision, err, message)
		}
	}
	request.Basis.Revision++
	wantInvalid(t, attacker.ask(t, protocol.WriteStatusActivity, request))
	wantRuns(t, namespace, cronJob.Name)
}

// TestOnlyTheCronJobsOwnRunIsFound: a start that only looks for its Job tells nothing of another's.
func TestOnlyTheCronJobsOwnRunIsFound(t *testing.T) {
	t.Parallel()
	namespace, attacker := stack.Namespace(t), newAttacker(t)
	cronJob := stack.AddCronJob(t, harness.NewCronJob(namespace, "yearly", harness.Yearly, harness.JobSpec()))
	other := victim(t, namespace, "other")
	start := triggered(cronJob, referenceTo(cronJob), 1)
	start.Name = other.Name
	result := tells[protocol.StartRunResult](t, attacker.ask(t, protocol.StartRunActivity, protocol.StartRunRequest{
		CronJob: referenceTo(cronJob), Digest: schedule.SpecOf(cronJob).Digest(), Start: start, Find: true,
	}))
	if !result.Missing || result.Started != nil {
		t.Errorf("answer %+v", result)
	}
}

// wantRuns checks that a CronJob of every minute goes on to run, once its own workflow is back.
func wantRuns(t *testing.T, namespace, name string) {
	t.Helper()
	since := time.Now()
	harness.Eventually(t, takenBack+harness.NextMinute, func(ctx context.Context) error {
		found, err := stack.CronJob(ctx, namespace, name)
		if err != nil {
			return err
		}
		if last := found.Status.LastScheduleTime; last == nil || last.Time.Before(since) || found.Status.LastSuccessfulTime == nil {
			return fmt.Errorf("CronJob %s has not run since %s: status %+v", name, since, found.Status)
		}
		return nil
	})
}

// TestNoForgedPastStopsAnObject: a workflow is started in the place of the object's own, with times that it waits for.
func TestNoForgedPastStopsAnObject(t *testing.T) {
	const never = "9998-01-01T00:00:00Z"
	for what, forged := range map[string]struct {
		state string
		// invalid: the workflow does not begin with it.
		invalid bool
	}{
		"retry":    {`"errorRetry":{"attempts":1,"until":"` + never + `"}`, true},
		"start":    {`"startTime":"` + never + `"`, true},
		"back-off": {`"backoff":{"failures":1,"last":"` + never + `"}`, false},
		"a Pod's":  {`"attempts":1`, false},
	} {
		t.Run("Job, "+what, func(t *testing.T) {
			t.Parallel()
			namespace := stack.Namespace(t)
			ours := victim(t, namespace, "ours", harness.HoldIndex(0), harness.RunSeconds(1), harness.Indexed(1))
			pods, err := stack.PodsOf(t.Context(), namespace, ours.Name)
			if err != nil {
				t.Fatal(err)
			}
			// The spec is forged as well: it has Pods wait for ten years.
			spec := job.SpecOf(ours)
			spec.BackoffBaseSeconds, spec.BackoffCapSeconds = 300_000_000, 300_000_000
			input := fmt.Sprintf(`{"job":%s,"spec":%s,"state":{"pods":[{"name":%q,"uid":%q,"index":0,"attempt":1,"phase":"Running","tracked":true,"retry":{"until":%q}}],%s}}`,
				text(t, referenceTo(ours)), text(t, spec), pods[0].Name, pods[0].UID, time.Now().AddDate(9, 0, 0).UTC().Format(time.RFC3339), forged.state)
			as, queue := asking.Own(protocol.JobRequest{Job: referenceTo(ours)}), names.Cluster("").JobTaskQueue()
			if forged.invalid {
				wantInvalidState(t, begin(t, as, queue, input))
			} else {
				begin(t, as, queue, input)
			}
			stack.LetGo(t, namespace, ours.Name, 0)
			harness.Eventually(t, held, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, ours.Name, batchv1.JobComplete) })
		})
	}
	for what, input := range map[string]struct {
		more string
		// invalid: the workflow does not begin with it.
		invalid bool
	}{
		"created":       {`"created":"` + never + `"`, false},
		"upcoming":      {`"state":{"calendar":{"made":true,"schedule":"* * * * *","upcoming":["` + never + `"]}}`, false},
		"former":        {`"state":{"calendar":{"former":[{"schedule":"0 0 1 1 *","until":"` + never + `"}]}}`, true},
		"backfill":      {`"state":{"backfills":[{"sequence":1,"parallelism":1,"total":1,"times":["` + never + `"]}]}`, true},
		"settled":       {`"state":{"settled":"` + never + `"}`, true},
		"lastScheduled": {`"state":{"lastScheduled":"` + never + `"}`, true},
		"retry":         {`"state":{"pending":{"retry":{"until":"` + never + `"}}}`, true},
	} {
		t.Run("CronJob, "+what, func(t *testing.T) {
			t.Parallel()
			namespace := stack.Namespace(t)
			cronJob := stack.AddCronJob(t, harness.NewCronJob(namespace, "minutely", "* * * * *", harness.JobSpec(harness.RunSeconds(1))))
			began := fmt.Sprintf(`{"cronJob":%s,"spec":%s,%s}`, text(t, referenceTo(cronJob)), text(t, schedule.SpecOf(cronJob)), input.more)
			as, queue := asking.Own(protocol.FindRunsRequest{CronJob: referenceTo(cronJob)}), names.Cluster("").ControlTaskQueue()
			if input.invalid {
				wantInvalidState(t, begin(t, as, queue, began))
			} else {
				begin(t, as, queue, began)
			}
			wantRuns(t, namespace, cronJob.Name)
		})
	}
}

// begin starts a workflow of Ostinato's, with an input of the attacker's, in the place of the object's own.
func begin(t *testing.T, as asking.Workflow, queue, input string) client.WorkflowRun {
	t.Helper()
	run, err := stack.Temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: as.ID, TaskQueue: queue, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
	}, as.Type, json.RawMessage(input))
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// wantInvalidState checks that a workflow does not begin with a state.
func wantInvalidState(t *testing.T, run client.WorkflowRun) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), refused)
	defer cancel()
	if err := run.Get(ctx, nil); err == nil || !strings.Contains(err.Error(), "invalid input: state") {
		t.Errorf("the workflow ends with %v", err)
	}
}

// TestNoRunStartsThatTheObjectExcludes: of a time before the CronJob was created, or after its own starting deadline, although
// the request names no deadline.
func TestNoRunStartsThatTheObjectExcludes(t *testing.T) {
	t.Parallel()
	namespace, attacker := stack.Namespace(t), newAttacker(t)
	const deadline = 10 * time.Second
	strict := harness.NewCronJob(namespace, "strict", "* * * * *", harness.JobSpec(harness.RunSeconds(1)))
	strict.Spec.StartingDeadlineSeconds, strict.Spec.Suspend = new(int64(deadline/time.Second)), new(true)
	cronJob := stack.AddCronJob(t, strict)
	// It is suspended when the first time comes, and resumed when that is too late.
	first := cronJob.CreationTimestamp.UTC().Truncate(time.Minute).Add(time.Minute)
	before := first.Add(-2 * time.Minute)
	harness.Eventually(t, time.Until(first)+deadline+harness.Slack, func(ctx context.Context) error {
		if late := time.Since(first); late < deadline+2*time.Second {
			return fmt.Errorf("the starting deadline of %s is not over", first)
		}
		return nil
	})
	resumed, err := stack.CronJobs.CronJobs(namespace).Patch(t.Context(), cronJob.Name, types.MergePatchType, []byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for reason, at := range map[string]time.Time{ledger.NotPrescribed: before, ledger.TooLate: first} {
		result := tells[protocol.StartRunResult](t, attacker.ask(t, protocol.StartRunActivity, protocol.StartRunRequest{
			CronJob: referenceTo(cronJob), Digest: schedule.SpecOf(resumed).Digest(),
			Start: schedule.Start{Name: names.ScheduledJob(cronJob.Name, at), Scheduled: at},
		}))
		if result.Refused == nil || result.Refused.Reason != reason {
			t.Errorf("the start of %s is answered %+v, want the refusal %s", at, result, reason)
		}
	}
}
