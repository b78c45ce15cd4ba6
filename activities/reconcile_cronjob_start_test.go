package activities_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// unwanted are CronJobs that do not prescribe the run of startRequest, and requests that
// come too late for it.
func unwanted() map[string]struct {
	cronJob *ostinatov1.CronJob
	before  time.Time
	reason  string
} {
	suspended, edited := helloCronJob(), helloCronJob()
	suspended.Spec.Suspend = ptr.To(true)
	edited.Spec.Schedule = "30 12 * * *"
	return map[string]struct {
		cronJob *ostinatov1.CronJob
		before  time.Time
		reason  string
	}{
		"it is too late":        {cronJob: helloCronJob(), before: scheduled.Add(time.Second), reason: ledger.TooLate},
		"it is suspended":       {cronJob: suspended, reason: ledger.NotPrescribed},
		"it is no time for one": {cronJob: edited, reason: ledger.NotPrescribed},
	}
}

func TestStartThatTheCronJobDoesNotPrescribe(t *testing.T) {
	for name, test := range unwanted() {
		t.Run(name, func(t *testing.T) {
			test.cronJob.Spec.ConcurrencyPolicy = batchv1.ReplaceConcurrent
			s := newStage(t, []runtime.Object{cronJobsJob("running")}, []*ostinatov1.CronJob{test.cronJob})
			request := startRequest()
			request.Start.Before = test.before
			request.Replace = []schedule.Delete{{Name: "running", UID: "running-uid", Replaced: true}}
			result := must[protocol.StartRunResult](s, protocol.StartRunActivity, request)
			if result.Refused == nil || result.Refused.Reason != test.reason || result.Started != nil {
				t.Errorf("result %+v", result)
			}
			// The running Job is not replaced by nothing.
			if !s.jobExists("running") || len(s.writes()) != 0 {
				t.Errorf("writes %v", s.writes())
			}
			if events := s.recorded(); !slices.Equal(events, []string{"Normal SawCompletedJob said by the plan"}) {
				t.Errorf("events %v", events)
			}
		})
	}
}

// TestStartFindsTheJobOfAnAttemptThatUsedUpTheQuota: the API server asks admission before it looks whether the name is taken.
func TestStartFindsTheJobOfAnAttemptThatUsedUpTheQuota(t *testing.T) {
	made := cronJobsJob(start().Name)
	s := newStage(t, []runtime.Object{made}, []*ostinatov1.CronJob{helloCronJob()})
	s.refuse("create", "jobs", 1, apierrors.NewForbidden(batchv1.Resource("jobs"), made.Name, errors.New("exceeded quota")))
	result := must[protocol.StartRunResult](s, protocol.StartRunActivity, startRequest())
	if result.Started == nil || result.Started.Run.UID != string(made.UID) || result.Refused != nil {
		t.Fatalf("result %+v", result)
	}
	if events := s.recorded(); !slices.Equal(events, []string{"Normal SawCompletedJob said by the plan"}) {
		t.Errorf("events %v", events)
	}
}

// TestStartFindsTheJobOfAnAttemptThatWasInTime: the answer of an attempt may be lost, and
// the run has started nevertheless.
func TestStartFindsTheJobOfAnAttemptThatWasInTime(t *testing.T) {
	for name, test := range unwanted() {
		t.Run(name, func(t *testing.T) {
			made := cronJobsJob(start().Name)
			made.Spec.ManagedBy = ptr.To(names.JobController)
			s := newStage(t, []runtime.Object{made}, []*ostinatov1.CronJob{test.cronJob})
			request := startRequest()
			request.Start.Before = test.before
			result := must[protocol.StartRunResult](s, protocol.StartRunActivity, request)
			if result.Started == nil || result.Started.Run.UID != string(made.UID) || !result.Started.Managed || result.Refused != nil {
				t.Fatalf("result %+v", result)
			}
			if status := s.cronJob().Status; len(status.Active) != 1 || status.Active[0].UID != made.UID {
				t.Errorf("status %+v", status)
			}
		})
		t.Run(name+", and the Job of the name is another's", func(t *testing.T) {
			foreign := cronJobsJob(start().Name)
			foreign.OwnerReferences = nil
			s := newStage(t, []runtime.Object{foreign}, []*ostinatov1.CronJob{test.cronJob})
			request := startRequest()
			request.Start.Before = test.before
			result := must[protocol.StartRunResult](s, protocol.StartRunActivity, request)
			if result.Started != nil || result.Refused == nil || result.Refused.Reason != test.reason {
				t.Errorf("result %+v", result)
			}
		})
	}
}

// TestOverlapIsJudgedByTheJobsThatTheStatusNames: each of these is read. A Job that the status does not name is not looked for:
// who forges the status, in the place of the CronJob's workflow, overlaps its runs until signatures come.
func TestOverlapIsJudgedByTheJobsThatTheStatusNames(t *testing.T) {
	anothers := cronJobsJob("active")
	anothers.OwnerReferences = nil
	recreated := cronJobsJob("active")
	recreated.UID = "new-uid"
	for name, test := range map[string]struct {
		objects []runtime.Object
		policy  batchv1.ConcurrencyPolicy
		starts  bool
	}{
		"one runs that the status does not name": {[]runtime.Object{cronJobsJob("unnamed")}, batchv1.ForbidConcurrent, true},
		"one runs":                               {[]runtime.Object{cronJobsJob("active")}, batchv1.ForbidConcurrent, false},
		"one runs, Allow":                        {[]runtime.Object{cronJobsJob("active")}, batchv1.AllowConcurrent, true},
		"one has finished":                       {[]runtime.Object{finishedCronJobsJob("active", batchv1.JobFailed)}, batchv1.ForbidConcurrent, true},
		"it is gone":                             {nil, batchv1.ForbidConcurrent, true},
		"it was re-created":                      {[]runtime.Object{recreated}, batchv1.ForbidConcurrent, true},
		"it is not the CronJobs":                 {[]runtime.Object{anothers}, batchv1.ForbidConcurrent, true},
		"one runs, Queue":                        {[]runtime.Object{cronJobsJob("active")}, ostinatov1.QueueConcurrent, false},
		"two run":                                {[]runtime.Object{cronJobsJob("active"), cronJobsJob("other")}, batchv1.AllowConcurrent, false},
		"two run, Replace":                       {[]runtime.Object{cronJobsJob("active"), cronJobsJob("other")}, batchv1.ReplaceConcurrent, true},
	} {
		t.Run(name, func(t *testing.T) {
			cronJob := concurrent(test.policy)
			cronJob.Status.Active = []corev1.ObjectReference{{Namespace: namespace, Name: "active", UID: "active-uid"}}
			if len(test.objects) == 2 {
				cronJob.Spec.MaxConcurrent = ptr.To[int32](2)
				cronJob.Status.Active = append(cronJob.Status.Active, corev1.ObjectReference{Namespace: namespace, Name: "other", UID: "other-uid"})
			}
			s := newStage(t, test.objects, []*ostinatov1.CronJob{cronJob})
			result := must[protocol.StartRunResult](s, protocol.StartRunActivity, startRequest())
			if (result.Started != nil) != test.starts || (result.Refused != nil) == test.starts {
				t.Errorf("result %+v", result)
			}
		})
	}
}

// TestCronJobThatIsNotThePlanned is left as it is; but a run that an attempt before has started by the spec before it has started.
func TestCronJobThatIsNotThePlanned(t *testing.T) {
	s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()})
	request := startRequest()
	request.Digest = "another"
	result := must[protocol.StartRunResult](s, protocol.StartRunActivity, request)
	if result.CurrentSpec == nil || result.CurrentSpec.Schedule != helloCronJob().Spec.Schedule || result.Started != nil {
		t.Errorf("result %+v", result)
	}
	if len(s.writes()) != 0 || len(s.recorded()) != 0 {
		t.Errorf("writes %v", s.writes())
	}
	ended, foreign := cronJobsJob("ended"), cronJobsJob("foreign")
	ended.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	foreign.OwnerReferences = nil
	s = newStage(t, []runtime.Object{cronJobsJob(start().Name), ended, foreign, cronJobsJob("running")}, []*ostinatov1.CronJob{helloCronJob()})
	for _, name := range []string{"deleted", "ended", "foreign", "running"} {
		request.Replace = append(request.Replace, schedule.Delete{Name: name, UID: name + "-uid", Replaced: true})
	}
	result = must[protocol.StartRunResult](s, protocol.StartRunActivity, request)
	if result.Started == nil || result.CurrentSpec != nil || !result.StatusLeft || len(s.writes()) != 0 {
		t.Errorf("result %+v, writes %v; want the Job of an earlier attempt", result, s.writes())
	}
	if !slices.Equal(result.Replaced, []string{"deleted", "foreign"}) || len(result.Ended) != 1 || result.Ended[0].Run.Name != "ended" {
		t.Errorf("replaced %v, ended %+v; want what the earlier attempt has replaced and left", result.Replaced, result.Ended)
	}
}

// The status was written with the run, and its answer was lost: an attempt after that starts nothing.
func TestARunThatTheStatusSaysHasStarted(t *testing.T) {
	for name, test := range map[string]struct {
		jobs []runtime.Object
		// uid is that of the Job that the answer names.
		uid string
	}{
		"its Job is gone":  {uid: "gone-uid"},
		"its Job is there": {jobs: []runtime.Object{cronJobsJob(start().Name)}, uid: start().Name + "-uid"},
	} {
		t.Run(name, func(t *testing.T) {
			cronJob := helloCronJob()
			cronJob.Spec.ConcurrencyPolicy = batchv1.ReplaceConcurrent
			request := startRequest()
			request.Replace = []schedule.Delete{{Name: "running", UID: "running-uid", Replaced: true}}
			cronJob.Status.Revision, cronJob.Status.PlanDigest = 1, schedule.PlanDigest(request.Status, &request.Start)
			cronJob.Status.Active = []corev1.ObjectReference{{Name: start().Name, UID: "gone-uid"}}
			s := newStage(t, append(test.jobs, cronJobsJob("running")), []*ostinatov1.CronJob{cronJob})
			result := must[protocol.StartRunResult](s, protocol.StartRunActivity, request)
			if result.Started == nil || result.Started.Run.UID != test.uid || result.Revision != 1 {
				t.Fatalf("result %+v", result)
			}
			if gone := len(test.jobs) == 0; gone != (len(result.Ended) == 1) || len(s.writes()) > 0 {
				t.Errorf("ended %+v, writes %v", result.Ended, s.writes())
			}
		})
	}
}

// TestARunOfATimeThatHasRun, by the status, is refused, whatever a request says; but a Job that is there counts.
func TestARunOfATimeThatHasRun(t *testing.T) {
	for _, last := range []time.Time{scheduled, scheduled.Add(time.Minute)} {
		cronJob := helloCronJob()
		cronJob.Status.LastScheduleTime = ptr.To(metav1.NewTime(last))
		s := newStage(t, nil, []*ostinatov1.CronJob{cronJob})
		result := must[protocol.StartRunResult](s, protocol.StartRunActivity, startRequest())
		if result.Refused == nil || result.Refused.Reason != ledger.NotPrescribed || s.jobExists(start().Name) {
			t.Errorf("after %s: result %+v", last, result)
		}
		s = newStage(t, []runtime.Object{cronJobsJob(start().Name)}, []*ostinatov1.CronJob{cronJob})
		if result := must[protocol.StartRunResult](s, protocol.StartRunActivity, startRequest()); result.Started == nil {
			t.Errorf("after %s with its Job: result %+v", last, result)
		}
	}
}
