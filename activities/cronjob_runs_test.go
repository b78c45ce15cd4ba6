package activities_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// runsJob is a Job of the CronJob with the name of the run at the time.
func runsJob(at time.Time) *batchv1.Job {
	one := cronJobsJob(names.ScheduledJob("hello", at))
	one.Annotations = map[string]string{names.ScheduledTimestampAnnotation: at.Format(time.RFC3339)}
	one.CreationTimestamp = metav1.NewTime(at.Add(time.Second))
	return one
}

func TestSearchFindsTheJobsThatTheCronJobControls(t *testing.T) {
	running, ended := runsJob(scheduled), runsJob(scheduled.Add(-time.Minute))
	ended.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobFailed, "DeadlineExceeded")}
	ended.Status.Conditions[0].LastTransitionTime, ended.Status.Failed = metav1.NewTime(scheduled), 2
	byHand := cronJobsJob("hello-by-hand")
	byHand.CreationTimestamp = metav1.NewTime(scheduled.Add(time.Minute))
	byHand.Annotations = map[string]string{names.AskedByAnnotation: "ada", names.ChangedAnnotation: strings.Repeat("x", 100_000)}
	others := runsJob(scheduled.Add(time.Minute))
	others.OwnerReferences[0].UID = "another"
	cronJob := helloCronJob()
	cronJob.Status.Active = []corev1.ObjectReference{
		{Name: running.Name, UID: running.UID}, {Name: "hello-gone", UID: "uid-gone"}, {Name: others.Name, UID: others.UID},
	}
	s := newStage(t, []runtime.Object{running, ended, byHand, others, otherJob()}, []*ostinatov1.CronJob{cronJob})
	result := must[protocol.FindRunsResult](s, protocol.FindRunsActivity,
		protocol.FindRunsRequest{CronJob: cronJobRef, All: true})
	if len(result.Running) != 2 || result.Running[0].Name != running.Name || result.Running[0].Manual || !result.Running[0].Scheduled.Equal(scheduled) {
		t.Errorf("running %+v", result.Running)
	}
	if manual := result.Running[1]; manual.Name != byHand.Name || !manual.Manual || !manual.Scheduled.Equal(scheduled.Add(time.Minute)) {
		t.Errorf("started by hand %+v", manual)
	}
	if manual := result.Running[1]; manual.By != "ada" || len(manual.Changed) > 600 {
		t.Errorf("made by %q, with changes of %d bytes", manual.By, len(manual.Changed))
	}
	if len(result.Ended) != 3 || result.Ended[0].Run.Name != ended.Name || result.Ended[0].Condition != batchv1.JobFailed {
		t.Fatalf("ended %+v", result.Ended)
	}
	for i, name := range []string{"hello-gone", others.Name} {
		if one := result.Ended[i+1]; one.Run.Name != name || one.Condition != schedule.JobDeleted {
			t.Errorf("what the status lists and has no Job of the CronJob: %+v", one)
		}
	}
	if one := result.Ended[0]; !one.EndTime.Equal(scheduled) || one.Reason != "DeadlineExceeded" || one.FailedPods != 2 {
		t.Errorf("ended %+v", one)
	}
	if len(s.writes()) != 0 {
		t.Errorf("writes %v", s.writes())
	}
}

// Where admission stamps users, the name of one who has made a Job is no claim.
func TestAJobMadeByHandNamesTheUserWhereAdmissionStampsIt(t *testing.T) {
	for stamped, want := range map[bool]string{true: "ada@example.com", false: "bob"} {
		byHand := cronJobsJob("hello-by-hand")
		byHand.Annotations = map[string]string{names.AskedByAnnotation: "bob", names.RunUserAnnotation: "ada@example.com"}
		s := newStage(t, []runtime.Object{byHand}, []*ostinatov1.CronJob{helloCronJob()}, func(options *activities.Options) { options.StampedUsers = stamped })
		result := must[protocol.FindRunsResult](s, protocol.FindRunsActivity, protocol.FindRunsRequest{CronJob: cronJobRef, All: true})
		if len(result.Running) != 1 || result.Running[0].By != want || (result.Running[0].Through == ledger.ThroughJob) != stamped {
			t.Errorf("stamped %t: running %+v, want one made by %q", stamped, result.Running, want)
		}
	}
}

// A Job that the workflow has forgotten comes with what its own workflow needs, where that is
// for the CronJob's workflow to start.
func TestAJobThatRunsComesWithWhatItsWorkflowNeeds(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*batchv1.Job)
		child  bool
	}{
		"ours":                         {func(*batchv1.Job) {}, true},
		"the built-in controller's":    {func(j *batchv1.Job) { j.Spec.ManagedBy = nil }, false},
		"made by hand from a template": {func(j *batchv1.Job) { j.Annotations[names.InstantiateAnnotation] = "manual" }, false},
		"of no scheduled time":         {func(j *batchv1.Job) { delete(j.Annotations, names.ScheduledTimestampAnnotation) }, false},
		"another CronJob's":            {func(j *batchv1.Job) { j.OwnerReferences[0].UID = "another" }, false},
		"ended": {func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobFailed, "DeadlineExceeded")}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			one := runsJob(scheduled)
			one.Spec.ManagedBy = ptr.To(names.JobController)
			test.change(one)
			s := newStage(t, []runtime.Object{one}, []*ostinatov1.CronJob{helloCronJob()})
			result := must[protocol.FindRunsResult](s, protocol.FindRunsActivity, protocol.FindRunsRequest{
				CronJob: cronJobRef, Look: []schedule.Run{{Name: one.Name, UID: string(one.UID)}},
			})
			if child := len(result.Children) == 1 && result.Children[0].Run.UID == string(one.UID) && result.Children[0].Managed; child != test.child {
				t.Errorf("children %+v", result.Children)
			}
		})
	}
}

// A Job's word for its scheduled time counts only together with its name.
func TestAJobWithTheTimeOfAnotherRunWasStartedByHand(t *testing.T) {
	copied := runsJob(scheduled)
	copied.Name, copied.UID = "hello-copy", "hello-copy-uid"
	s := newStage(t, []runtime.Object{copied}, []*ostinatov1.CronJob{helloCronJob()})
	result := must[protocol.FindRunsResult](s, protocol.FindRunsActivity, protocol.FindRunsRequest{
		CronJob: cronJobRef, Look: []schedule.Run{{Name: copied.Name, UID: string(copied.UID)}},
	})
	if len(result.Running) != 1 || !result.Running[0].Manual {
		t.Errorf("running %+v", result.Running)
	}
}

func TestAStatusThatCantBeWrittenIsReportedAndTheRunHasStarted(t *testing.T) {
	for name, failure := range map[string]error{
		"refused":                     apierrors.NewForbidden(jobs, "hello", nil),
		"the webhook does not answer": apierrors.NewInternalError(errors.New("no answer")),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()})
			s.cronJobs.PrependReactor("update", "cronjobs", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, failure })
			result := must[protocol.StartRunResult](s, protocol.StartRunActivity, startRequest())
			if result.Started == nil || result.StatusFailed == "" || !s.jobExists(start().Name) {
				t.Errorf("result %+v", result)
			}
			if !slices.ContainsFunc(s.recorded(), func(e string) bool {
				return strings.HasPrefix(e, "Warning FailedStatusUpdate") || strings.Contains(e, "Error updating status")
			}) {
				t.Errorf("events %v", s.recorded())
			}
		})
	}
}
