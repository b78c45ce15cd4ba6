package activities_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

var jobs = schema.GroupResource{Group: "batch", Resource: "jobs"}

func start() *schedule.Start {
	return &schedule.Start{Name: names.ScheduledJob("hello", scheduled), Scheduled: scheduled}
}

func startRequest() protocol.CronJobRequest {
	return protocol.CronJobRequest{
		CronJob: cronJobRef, Start: start(), Status: &ostinatov1.CronJobStatus{ObservedGeneration: 3},
		Events: []event.Event{event.Normal("Planned", "said by the plan")},
	}
}

func (s *stage) cronJob() *ostinatov1.CronJob {
	s.t.Helper()
	cronJob, err := s.cronJobs.CronJobs(namespace).Get(s.t.Context(), "hello", metav1.GetOptions{})
	if err != nil {
		s.t.Fatalf("get CronJob: %v", err)
	}
	return cronJob
}

func TestStartCreatesTheJobAndPutsItIntoTheStatus(t *testing.T) {
	s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()})
	result := must[protocol.CronJobResult](s, protocol.ReconcileCronJobActivity, startRequest())
	name := start().Name
	if result.Started == nil || result.Started.Run.Name != name || result.Started.Run.UID != name+"-uid" || !result.Started.Managed {
		t.Fatalf("started %+v", result.Started)
	}
	stored := s.job(name)
	if link := stored.Annotations[names.WorkflowAnnotation]; link != "temporal-namespace/job/default/"+name {
		t.Errorf("workflow annotation %q", link)
	}
	status := s.cronJob().Status
	if len(status.Active) != 1 || status.Active[0].Name != name || !status.LastScheduleTime.Time.Equal(scheduled) || status.ObservedGeneration != 3 {
		t.Errorf("status %+v", status)
	}
	if status.Workflow == nil || status.Workflow.ID != "cronjob/default/hello" || status.Workflow.Namespace != "temporal-namespace" {
		t.Errorf("workflow %+v", status.Workflow)
	}
	want := []string{"Normal SuccessfulCreate Created job " + name, "Normal Planned said by the plan"}
	if events := s.recorded(); !slices.Equal(events, want) {
		t.Errorf("events %v, want %v", events, want)
	}
}

func TestRepeatedStartFindsItsJob(t *testing.T) {
	s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()})
	first := must[protocol.CronJobResult](s, protocol.ReconcileCronJobActivity, startRequest())
	s.recorded()
	second := must[protocol.CronJobResult](s, protocol.ReconcileCronJobActivity, startRequest())
	if second.Started == nil || second.Started.Run.UID != first.Started.Run.UID {
		t.Errorf("started %+v, then %+v", first.Started, second.Started)
	}
	if events := s.recorded(); !slices.Equal(events, []string{"Normal Planned said by the plan"}) {
		t.Errorf("events of a repetition %v", events)
	}
	// The Job was created 3 s after its time, once.
	if sum := s.metric("cronjob_controller_job_creation_skew_duration_seconds"); sum != 3 {
		t.Errorf("skew sums up to %v s", sum)
	}
}

func TestRefusedStart(t *testing.T) {
	quota := apierrors.NewForbidden(jobs, "x", errors.New("exceeded quota"))
	foreign := helloJob()
	foreign.Name = start().Name
	deleting := helloCronJob()
	now := metav1.NewTime(scheduled)
	deleting.DeletionTimestamp, deleting.Finalizers = &now, []string{"example.com/hold"}
	tests := map[string]struct {
		cronJob *ostinatov1.CronJob
		objects []runtime.Object
		err     error
		reason  string
		warning string
	}{
		"quota":                    {helloCronJob(), nil, quota, protocol.RefusedForbidden, "Error creating job: " + quota.Error()},
		"terminating namespace":    {helloCronJob(), nil, terminatingNamespace(), protocol.RefusedNamespaceTerminating, ""},
		"another owner's Job":      {helloCronJob(), []runtime.Object{foreign}, nil, protocol.RefusedForeignObject, `Error creating job: Job "` + foreign.Name + `" exists and is not controlled by CronJob "hello"`},
		"CronJob is being deleted": {deleting, nil, nil, protocol.RefusedOther, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, test.objects, []*ostinatov1.CronJob{test.cronJob})
			if test.err != nil {
				s.refuse("create", "jobs", -1, test.err)
			}
			result := must[protocol.CronJobResult](s, protocol.ReconcileCronJobActivity, startRequest())
			if result.Refused == nil || result.Refused.Reason != test.reason || result.Started != nil {
				t.Errorf("result %+v", result)
			}
			if s.cronJob().Status.ObservedGeneration != 0 {
				t.Error("the status was applied")
			}
			want := []string{"Normal Planned said by the plan"}
			if test.warning != "" {
				want = append([]string{"Warning FailedCreate " + test.warning}, want...)
			}
			if events := s.recorded(); !slices.Equal(events, want) {
				t.Errorf("events %v, want %v", events, want)
			}
		})
	}
}

func TestStartThatComesTooLate(t *testing.T) {
	late := startRequest()
	late.Start.Before = scheduled.Add(time.Second)
	t.Run("creates nothing", func(t *testing.T) {
		s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()})
		result := must[protocol.CronJobResult](s, protocol.ReconcileCronJobActivity, late)
		if result.Refused == nil || result.Refused.Reason != protocol.RefusedTooLate || result.Started != nil {
			t.Errorf("result %+v", result)
		}
		if events := s.recorded(); !slices.Equal(events, []string{"Normal Planned said by the plan"}) {
			t.Errorf("events %v", events)
		}
	})
	t.Run("finds the Job of an attempt that was in time", func(t *testing.T) {
		s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()})
		first := must[protocol.CronJobResult](s, protocol.ReconcileCronJobActivity, startRequest())
		second := must[protocol.CronJobResult](s, protocol.ReconcileCronJobActivity, late)
		if second.Started == nil || second.Started.Run.UID != first.Started.Run.UID {
			t.Errorf("started %+v, then %+v", first.Started, second)
		}
	})
}

func TestGoneCronJobGetsNothing(t *testing.T) {
	recreated := helloCronJob()
	recreated.UID = "new-uid"
	s := newStage(t, nil, []*ostinatov1.CronJob{recreated})
	if result := must[protocol.CronJobResult](s, protocol.ReconcileCronJobActivity, startRequest()); !result.Gone || len(s.writes()) != 0 {
		t.Errorf("result %+v, writes %v", result, s.writes())
	}
}

func cronJobsJob(name string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name + "-uid")}}
}

func TestDeletesOfJobs(t *testing.T) {
	s := newStage(t, []runtime.Object{cronJobsJob("old"), cronJobsJob("running")}, []*ostinatov1.CronJob{helloCronJob()})
	result := must[protocol.CronJobResult](s, protocol.ReconcileCronJobActivity, protocol.CronJobRequest{CronJob: cronJobRef, Deletes: []schedule.Delete{
		{Name: "running", UID: "running-uid", Replaced: true}, {Name: "old", UID: "old-uid"}, {Name: "gone", UID: "gone-uid"},
	}})
	if !slices.Equal(result.Deleted, []string{"running", "old", "gone"}) {
		t.Errorf("deleted %v", result.Deleted)
	}
	events := s.recorded()
	slices.Sort(events)
	if !slices.Equal(events, []string{"Normal SuccessfulDelete Deleted job old", "Normal SuccessfulDelete Deleted job running"}) {
		t.Errorf("events %v", events)
	}
	for _, action := range s.kubernetes.Actions() {
		if deletion, ok := action.(clienttesting.DeleteActionImpl); ok {
			options := deletion.DeleteOptions
			if options.PropagationPolicy == nil || *options.PropagationPolicy != metav1.DeletePropagationBackground || options.Preconditions == nil {
				t.Errorf("delete of %s with %+v", deletion.Name, options)
			}
		}
	}
}

func TestFailedDeletes(t *testing.T) {
	forbidden := apierrors.NewForbidden(jobs, "old", errors.New("no"))
	stage := func() *stage {
		s := newStage(t, []runtime.Object{cronJobsJob("old")}, []*ostinatov1.CronJob{helloCronJob()})
		s.refuse("delete", "jobs", -1, forbidden)
		return s
	}
	request := startRequest()

	s := stage()
	request.Deletes = []schedule.Delete{{Name: "old", UID: "old-uid", Replaced: true}}
	if _, err := run[protocol.CronJobResult](s, protocol.ReconcileCronJobActivity, request); err == nil {
		t.Error("the failed delete of a replaced Job is no error")
	}
	if slices.Contains(s.writes(), "create jobs "+start().Name) {
		t.Error("a run started beside the one it replaces")
	}
	if events := s.recorded(); !slices.Equal(events, []string{"Warning FailedDelete Deleted job: " + forbidden.Error()}) {
		t.Errorf("events %v", events)
	}

	s = stage()
	request.Deletes = []schedule.Delete{{Name: "old", UID: "old-uid"}}
	result := must[protocol.CronJobResult](s, protocol.ReconcileCronJobActivity, request)
	if len(result.Deleted) != 0 || result.Started == nil {
		t.Errorf("history clean-up that failed stops the run: %+v", result)
	}
}

func TestRefusedCronJobStatusDoesNotStopTheRun(t *testing.T) {
	s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()})
	s.cronJobs.PrependReactor("patch", "cronjobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInvalid(ostinatov1.CronJobKind.GroupKind(), "hello", nil)
	})
	result := must[protocol.CronJobResult](s, protocol.ReconcileCronJobActivity, startRequest())
	if result.Started == nil {
		t.Errorf("result %+v", result)
	}
	if events := s.recorded(); !slices.ContainsFunc(events, func(event string) bool { return strings.HasPrefix(event, "Warning FailedUpdateStatus ") }) {
		t.Errorf("events %v", events)
	}
}

func TestSetSuspend(t *testing.T) {
	request := protocol.SetSuspendRequest{
		Kind: "CronJob", Object: cronJobRef, Suspend: true, At: scheduled,
		Note: protocol.SignalNote{Note: `maintenance "window"`, By: "alice"},
	}
	s := newStage(t, []runtime.Object{helloJob()}, []*ostinatov1.CronJob{helloCronJob()})
	if result := must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, request); result.CronJobSpec == nil || !result.CronJobSpec.Suspend || result.Gone {
		t.Errorf("result %+v", result)
	}
	stored := s.cronJob()
	if stored.Spec.Suspend == nil || !*stored.Spec.Suspend || stored.Annotations[names.SuspendedByAnnotation] != "alice" ||
		stored.Annotations[names.SuspendNoteAnnotation] != `maintenance "window"` || stored.Annotations[names.SuspendedAtAnnotation] != "2026-01-02T03:04:00Z" {
		t.Errorf("suspend %v, annotations %v", stored.Spec.Suspend, stored.Annotations)
	}
	request.Suspend, request.Note = false, protocol.SignalNote{}
	must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, request)
	stored = s.cronJob()
	if _, note := stored.Annotations[names.SuspendNoteAnnotation]; note || *stored.Spec.Suspend {
		t.Errorf("suspend %v, annotations %v", *stored.Spec.Suspend, stored.Annotations)
	}
	request.Kind, request.Object, request.Suspend = "Job", jobRef, true
	must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, request)
	if suspended := s.job(jobName).Spec.Suspend; suspended == nil || !*suspended {
		t.Error("the Job is not suspended")
	}
}

func TestSetSuspendOfAGoneObject(t *testing.T) {
	request := protocol.SetSuspendRequest{Kind: "CronJob", Object: cronJobRef, Suspend: true, At: scheduled}
	if result := must[protocol.SetSuspendResult](newStage(t, nil, nil), protocol.SetSuspendActivity, request); !result.Gone {
		t.Errorf("absent: %+v", result)
	}
	recreated := helloCronJob()
	recreated.UID = "new-uid"
	s := newStage(t, nil, []*ostinatov1.CronJob{recreated})
	s.cronJobs.PrependReactor("patch", "cronjobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInvalid(ostinatov1.CronJobKind.GroupKind(), "hello", nil)
	})
	if result := must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, request); !result.Gone {
		t.Errorf("re-created: %+v", result)
	}
}
