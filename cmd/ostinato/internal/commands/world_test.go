package commands

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

var now = time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)

func at(hour, minute int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 3, 2, hour, minute, 0, 0, time.UTC))
}

// world is a namespace with three CronJobs, and a Temporal with their workflows:
//   - report ran at two, and somebody has run it again at nine;
//   - orders runs every ten minutes and fails;
//   - import is suspended, and its run at midnight was skipped.
type world struct {
	api      *apiServer
	temporal *temporalServer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	nothing := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(nothing, nil, 0o600))
	t.Setenv("KUBECONFIG", nothing)
	t.Setenv("TEMPORAL_CONFIG_FILE", nothing)
	for _, variable := range []string{"TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "TEMPORAL_PROFILE"} {
		t.Setenv(variable, "")
	}
	w := &world{api: newAPIServer(t), temporal: newTemporalServer(t)}
	w.api.cronJobs = []ostinatov1.CronJob{report(), orders(), imports()}
	w.api.jobs = []batchv1.Job{
		jobOf("report", "report-xk2lp", at(9, 0), batchv1.JobComplete, ""), jobOf("orders", "orders-29541330", at(9, 20), batchv1.JobFailed, "BackoffLimitExceeded"),
	}
	w.api.pods = []corev1.Pod{podOf("report-xk2lp", "report-xk2lp-a", 0)}
	w.api.logs["report-xk2lp-a main"] = "12 reports were sent\n"
	rows := append(orders().Status.RecentRuns, ostinatov1.RecentRun{ScheduledTime: at(7, 40), Outcome: "SkippedOverlap", Reason: "JobAlreadyActive"},
		ostinatov1.RecentRun{ScheduledTime: at(7, 30), Outcome: "Started", JobName: "orders-29541220", StartTime: ptr.To(at(7, 30)), EndTime: ptr.To(at(7, 45)), Result: "Complete"})
	var kept ledger.Ledger
	for _, row := range slices.Backward(rows) {
		kept.Entries = append(kept.Entries, entryOf(row))
	}
	w.temporal.answers[protocol.LedgerQuery] = kept
	w.temporal.answers[protocol.DescribeQuery] = protocol.JobDescription{Attempts: []job.Attempt{{
		Pod: "orders-29541330-a", Container: "main", ExitCode: 3, Reason: "Error", Finished: at(9, 21).Time, Log: "no connection\n",
	}}}
	w.temporal.answers[protocol.TriggerUpdate] = protocol.TriggerAnswer{Job: "report-xk2lp", Runs: schedule.RunsNow}
	w.temporal.answers[protocol.BackfillUpdate] = protocol.BackfillAnswer{DryRun: true, Runs: 2, First: at(1, 0).Time, Last: at(2, 0).Time, Times: []time.Time{at(1, 0).Time, at(2, 0).Time}}
	return w
}

func entryOf(row ostinatov1.RecentRun) ledger.Entry {
	entry := ledger.Entry{Scheduled: row.ScheduledTime.Time, Outcome: ledger.Outcome(row.Outcome), Reason: row.Reason, Job: row.JobName}
	if row.EndTime != nil {
		entry.Recorded = row.StartTime.Time
		entry.End = ledger.End{Result: ledger.Result(row.Result), ResultReason: row.ResultReason, Ended: row.EndTime.Time, FailedAttempts: row.FailedAttempts}
	}
	return entry
}

func cronJob(name, expression string) ostinatov1.CronJob {
	made := ostinatov1.CronJob{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7", Generation: 1,
		CreationTimestamp: metav1.NewTime(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)),
	}}
	made.Spec.Schedule, made.Spec.TimeZone, made.Spec.ConcurrencyPolicy = expression, ptr.To("UTC"), batchv1.ForbidConcurrent
	made.Spec.JobTemplate.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: name + ":1"}},
	}
	made.Status.ObservedGeneration = 1
	made.Status.Workflow = &ostinatov1.WorkflowReference{Namespace: "default", ID: "cronjob/shop/" + name}
	return made
}

func report() ostinatov1.CronJob {
	made := cronJob("report", "0 2 * * *")
	made.Status.LastScheduleTime, made.Status.NextScheduleTime = ptr.To(at(2, 0)), ptr.To(metav1.NewTime(at(2, 0).AddDate(0, 0, 1)))
	made.Status.LastResult, made.Status.AccountedUntil = "Complete", ptr.To(at(2, 0))
	made.Status.RecentRuns = []ostinatov1.RecentRun{
		{ScheduledTime: at(9, 0), Outcome: "Started", JobName: "report-xk2lp", StartTime: ptr.To(at(9, 0)), EndTime: ptr.To(at(9, 1)), Result: "Complete",
			Manual: true, By: "ada", Through: ledger.ThroughUpdate, Message: "for the auditors"},
		{ScheduledTime: at(2, 0), Outcome: "Started", JobName: "report-29540880", StartTime: ptr.To(at(2, 0)), EndTime: ptr.To(at(2, 3)), Result: "Complete"},
	}
	return made
}

func orders() ostinatov1.CronJob {
	made := cronJob("orders", "*/10 * * * *")
	made.Status.LastScheduleTime, made.Status.NextScheduleTime = ptr.To(at(9, 20)), ptr.To(at(9, 40))
	made.Status.LastResult, made.Status.AccountedUntil, made.Status.ConsecutiveFailures = "Failed x2", ptr.To(at(9, 20)), 2
	made.Status.LastFailureTime = ptr.To(at(9, 21))
	for n := range 10 {
		due := metav1.NewTime(at(9, 20).Add(-time.Duration(n) * 10 * time.Minute))
		row := ostinatov1.RecentRun{ScheduledTime: due, Outcome: "Started", JobName: fmt.Sprintf("orders-%d", 29541330-10*n), StartTime: &due,
			EndTime: ptr.To(metav1.NewTime(due.Add(time.Minute))), Result: "Complete"}
		if n < 2 {
			row.Result, row.ResultReason, row.FailedAttempts = "Failed", "BackoffLimitExceeded", 1
		}
		made.Status.RecentRuns = append(made.Status.RecentRuns, row)
	}
	return made
}

func imports() ostinatov1.CronJob {
	made := cronJob("import", "@daily")
	made.Spec.Suspend, made.Status.Next, made.Status.AccountedUntil = ptr.To(true), "Suspended", ptr.To(at(0, 0))
	made.Annotations = map[string]string{names.SuspendedByAnnotation: "ada", names.SuspendNoteAnnotation: "an upgrade"}
	made.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: k8s.CommandFieldManager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:suspend":{}}}`),
		Time: ptr.To(metav1.NewTime(time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC))),
	}}
	made.Status.RecentRuns = []ostinatov1.RecentRun{{ScheduledTime: at(0, 0), Outcome: "SkippedSuspended", Reason: "Suspended"}}
	made.Status.Conditions = []metav1.Condition{{
		Type: ostinatov1.ConditionSuspended, Status: metav1.ConditionTrue, Reason: "Suspended",
		Message: "by ada (claimed) at 2026-03-01T20:00:00Z through ostinato: an upgrade",
	}}
	return made
}

func jobOf(cronJob, name string, created metav1.Time, ended batchv1.JobConditionType, reason string) batchv1.Job {
	made := batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, CreationTimestamp: created,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch.ostinato.dev/v1", Kind: "CronJob", Name: cronJob, UID: types.UID("uid-" + cronJob), Controller: ptr.To(true)}},
	}}
	if ended != "" {
		made.Status.Conditions = []batchv1.JobCondition{{Type: ended, Status: corev1.ConditionTrue, Reason: reason, Message: "Job has reached its end"}}
	}
	return made
}

func podOf(job, name string, exitCode int32) corev1.Pod {
	made := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{batchv1.JobNameLabel: job}}}
	made.Spec.Containers = []corev1.Container{{Name: "main"}}
	made.Status.Phase = corev1.PodSucceeded
	if exitCode != 0 {
		made.Status.Phase = corev1.PodFailed
	}
	made.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: exitCode}}}}
	return made
}

// run calls the command as a person would.
func (w *world) run(t *testing.T, arguments ...string) (stdout, stderr string, code int) {
	t.Helper()
	p := &person{kubernetes: genericclioptions.NewConfigFlags(true), now: func() time.Time { return now }, every: 10 * time.Millisecond, version: "v1.2.3"}
	flags := []string{"--server", w.api.URL, "--namespace", "shop", "--temporal-address", w.temporal.address, "--utc"}
	if arguments[0] == "__complete" {
		// What is completed stands at the end of the line.
		arguments = append(append([]string{arguments[0], arguments[1]}, flags...), arguments[2:]...)
	} else {
		arguments = append(append([]string{arguments[0]}, flags...), arguments[1:]...)
	}
	var out, complaints strings.Builder
	code = command.Execute(context.Background(), p.command("ostinato"), arguments, &out, &complaints)
	return out.String(), complaints.String(), code
}

// chance finds what differs in each test: names that the API server or a port has by chance.
var chance = regexp.MustCompile(`(-)[bcdfghjklmnpqrstvwxz2456789]{5}\b|(127\.0\.0\.1:)\d+`)

// transcript is a call with all that it printed, as a terminal would show it.
func (w *world) transcript(t *testing.T, arguments ...string) string {
	t.Helper()
	stdout, stderr, code := w.run(t, arguments...)
	var shown []string
	for _, argument := range arguments {
		if strings.ContainsAny(argument, ` "`) {
			argument = fmt.Sprintf("%q", argument)
		}
		shown = append(shown, argument)
	}
	text := "$ ostinato " + strings.Join(shown, " ") + "\n" + stdout
	for line := range strings.Lines(stderr) {
		text += "2> " + line
	}
	if code != 0 {
		text += fmt.Sprintf("exit code %d\n", code)
	}
	return chance.ReplaceAllString(text, "$1${2}xxxxx")
}
