package activities_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/sdk/temporal"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

var nativeRef = protocol.ObjectReference{Namespace: namespace, Name: "hello", UID: "native-uid", Native: true}

// nativeCronJob has the name of helloCronJob.
func nativeCronJob() *batchv1.CronJob {
	own := helloCronJob()
	native := &batchv1.CronJob{
		ObjectMeta: own.ObjectMeta,
		Spec:       batchv1.CronJobSpec{Schedule: own.Spec.Schedule, JobTemplate: own.Spec.JobTemplate},
	}
	native.UID = "native-uid"
	return native
}

func takingOverCronJobs(options *activities.Options) { options.TakeOverCronJobs = true }

func (s *stage) nativeCronJob() *batchv1.CronJob {
	s.t.Helper()
	stored, err := s.kubernetes.BatchV1().CronJobs(namespace).Get(s.t.Context(), "hello", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return stored
}

// One of each kind has the name; the request says which is meant, and only that is read
// and written.
func TestARunOfANativeCronJob(t *testing.T) {
	s := newStage(t, []runtime.Object{nativeCronJob()}, []*ostinatov1.CronJob{helloCronJob()}, takingOverCronJobs)
	request := protocol.StartRunRequest{
		CronJob: nativeRef, Digest: schedule.SpecOf(helloCronJob()).Digest(),
		Start:  schedule.Start{Name: names.ScheduledJob("hello", scheduled), Scheduled: scheduled},
		Status: &ostinatov1.CronJobStatus{ObservedGeneration: 3},
		Events: []event.Event{event.Normal("SawCompletedJob", "on the native one")},
	}
	result := must[protocol.StartRunResult](s, protocol.StartRunActivity, request)
	if result.Started == nil || result.Started.Managed {
		t.Fatalf("result %+v, want a Job that the built-in controller runs", result)
	}
	job := s.job(result.Started.Run.Name)
	if owner := metav1.GetControllerOf(job); owner == nil || owner.APIVersion != "batch/v1" || owner.UID != "native-uid" || job.Spec.ManagedBy != nil {
		t.Errorf("owner %+v, managed by %v", owner, job.Spec.ManagedBy)
	}
	stored := s.nativeCronJob()
	if len(stored.Status.Active) != 1 || stored.Status.LastScheduleTime == nil || stored.Annotations[names.ObservedGenerationAnnotation] != "3" ||
		stored.Annotations[names.WorkflowAnnotation] != "temporal-namespace/batch-cronjob/default/hello" {
		t.Errorf("status %+v, annotations %v", stored.Status, stored.Annotations)
	}
	if len(s.cronJobs.Actions()) > 0 {
		t.Errorf("the CronJob of batch.ostinato.dev was asked for: %v", s.cronJobs.Actions())
	}
	if events := s.recorded(); !slices.Contains(events, "Normal SawCompletedJob on the native one") {
		t.Errorf("events %v", events)
	}

	// A repetition, by a worker that takes Jobs over too, finds the Job.
	s.options.TakeOverJobs = true
	s.activities = activities.New(s.options)
	again := must[protocol.StartRunResult](s, protocol.StartRunActivity, request)
	if again.Started == nil || again.Started.Run.UID != result.Started.Run.UID || !again.Started.Managed {
		t.Errorf("result %+v, want the Job found, and run by Ostinato", again)
	}
}

func TestANativeCronJobIsSuspended(t *testing.T) {
	s := newStage(t, []runtime.Object{nativeCronJob()}, []*ostinatov1.CronJob{helloCronJob()}, takingOverCronJobs)
	request := protocol.SetSuspendRequest{Kind: protocol.CronJobKind, Object: nativeRef, Wish: protocol.Wish{Suspend: true, At: scheduled, Note: protocol.SignalNote{By: "ada"}}}
	if result := must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, request); result.CronJobSpec == nil || !result.CronJobSpec.Suspend {
		t.Errorf("result %+v", result)
	}
	if stored := s.nativeCronJob(); stored.Spec.Suspend == nil || !*stored.Spec.Suspend || stored.Annotations[names.SuspendedByAnnotation] != "ada" {
		t.Errorf("suspend %v, annotations %v", stored.Spec.Suspend, stored.Annotations)
	}
	if own := s.cronJob(); own.Spec.Suspend != nil {
		t.Error("the CronJob of batch.ostinato.dev is suspended")
	}
}

// Whoever may write to Temporal can say "native". Where CronJobs are not taken over, they
// are the built-in controller's, and are not even read.
func TestNativeCronJobsThatAreNotTakenOverAreRefused(t *testing.T) {
	for name, request := range map[string]any{
		protocol.WriteStatusActivity: protocol.WriteStatusRequest{CronJob: nativeRef, Status: &ostinatov1.CronJobStatus{}},
		protocol.SetSuspendActivity:  protocol.SetSuspendRequest{Kind: protocol.CronJobKind, Object: nativeRef, Wish: protocol.Wish{Suspend: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, []runtime.Object{nativeCronJob()}, []*ostinatov1.CronJob{helloCronJob()}, takingOver)
			_, err := run[any](s, name, request)
			var refused *temporal.ApplicationError
			if !errors.As(err, &refused) || refused.Type() != activities.NotTakenOverErrorType || !refused.NonRetryable() || !strings.Contains(err.Error(), "--takeover=cronjobs") {
				t.Errorf("error %v", err)
			}
			if asked := len(s.kubernetes.Actions()) + len(s.cronJobs.Actions()); asked > 0 {
				t.Errorf("%d requests to the API server", asked)
			}
		})
	}
}
