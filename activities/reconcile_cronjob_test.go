package activities_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

var jobs = schema.GroupResource{Group: "batch", Resource: "jobs"}

func start() *schedule.Start {
	return &schedule.Start{Name: names.ScheduledJob("hello", scheduled), Scheduled: scheduled}
}

func startRequest() protocol.StartRunRequest {
	return protocol.StartRunRequest{
		CronJob: cronJobRef, Start: *start(), Status: &ostinatov1.CronJobStatus{ObservedGeneration: 3},
		Events: []event.Event{event.Normal("SawCompletedJob", "said by the plan")},
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
	result := must[protocol.StartRunResult](s, protocol.StartRunActivity, startRequest())
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
	if len(status.RecentRuns) != 1 || status.RecentRuns[0].JobName != name || status.LastOutcome != status.RecentRuns[0].Outcome {
		t.Errorf("ledger %+v", status.RecentRuns)
	}
	if status.Workflow == nil || status.Workflow.ID != "cronjob/default/hello" || status.Workflow.Namespace != "temporal-namespace" {
		t.Errorf("workflow %+v", status.Workflow)
	}
	want := []string{"Normal SuccessfulCreate Created job " + name, "Normal SawCompletedJob said by the plan"}
	if events := s.recorded(); !slices.Equal(events, want) {
		t.Errorf("events %v, want %v", events, want)
	}
}

func TestRepeatedStartFindsItsJob(t *testing.T) {
	s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()})
	first := must[protocol.StartRunResult](s, protocol.StartRunActivity, startRequest())
	s.recorded()
	second := must[protocol.StartRunResult](s, protocol.StartRunActivity, startRequest())
	if second.Started == nil || second.Started.Run.UID != first.Started.Run.UID {
		t.Errorf("started %+v, then %+v", first.Started, second.Started)
	}
	if events := s.recorded(); !slices.Equal(events, []string{"Normal SawCompletedJob said by the plan"}) {
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
	deleting.DeletionTimestamp, deleting.Finalizers = ptr.To(metav1.NewTime(scheduled)), []string{"example.com/hold"}
	tests := map[string]struct {
		cronJob *ostinatov1.CronJob
		objects []runtime.Object
		err     error
		reason  string
		warning string
	}{
		"quota":                    {helloCronJob(), nil, quota, ledger.Forbidden, "Error creating job: " + quota.Error()},
		"terminating namespace":    {helloCronJob(), nil, terminatingNamespace(), ledger.NamespaceTerminating, ""},
		"another owner's Job":      {helloCronJob(), []runtime.Object{foreign}, nil, ledger.ForeignObject, `Error creating job: Job "` + foreign.Name + `" exists and is not controlled by CronJob "hello"`},
		"CronJob is being deleted": {deleting, nil, nil, ledger.NotPrescribed, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, test.objects, []*ostinatov1.CronJob{test.cronJob})
			if test.err != nil {
				s.refuse("create", "jobs", -1, test.err)
			}
			result := must[protocol.StartRunResult](s, protocol.StartRunActivity, startRequest())
			if result.Refused == nil || result.Refused.Reason != test.reason || result.Started != nil {
				t.Errorf("result %+v", result)
			}
			if s.cronJob().Status.ObservedGeneration != 0 {
				t.Error("the status was applied")
			}
			want := []string{"Normal SawCompletedJob said by the plan"}
			if test.warning != "" {
				want = append([]string{"Warning FailedCreate " + test.warning}, want...)
			}
			if events := s.recorded(); !slices.Equal(events, want) {
				t.Errorf("events %v, want %v", events, want)
			}
		})
	}
}

func TestGoneCronJobGetsNothing(t *testing.T) {
	recreated := helloCronJob()
	recreated.UID = "new-uid"
	s := newStage(t, nil, []*ostinatov1.CronJob{recreated})
	if result := must[protocol.StartRunResult](s, protocol.StartRunActivity, startRequest()); !result.Gone || len(s.writes()) != 0 {
		t.Errorf("result %+v, writes %v", result, s.writes())
	}
}

func TestRefusedCronJobStatusDoesNotStopTheRun(t *testing.T) {
	s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()})
	s.cronJobs.PrependReactor("update", "cronjobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInvalid(ostinatov1.CronJobKind.GroupKind(), "hello", nil)
	})
	result := must[protocol.StartRunResult](s, protocol.StartRunActivity, startRequest())
	if result.Started == nil {
		t.Errorf("result %+v", result)
	}
	if events := s.recorded(); !slices.ContainsFunc(events, func(event string) bool { return strings.HasPrefix(event, "Warning FailedUpdateStatus ") }) {
		t.Errorf("events %v", events)
	}
}
