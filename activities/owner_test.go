package activities_test

import (
	"errors"
	"slices"
	"testing"

	"go.temporal.io/sdk/temporal"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// jobRequests are requests of every activity that acts for a Job, which would change
// the Pod a, or create one.
func jobRequests(reference protocol.ObjectReference) map[string]any {
	release := []job.Release{{Name: "a", UID: "a-uid", Phase: corev1.PodFailed, Logs: true}}
	return map[string]any{
		protocol.CarryOutActivity: protocol.JobRequest{
			Job: reference, Creates: creates(1), Deletes: []job.Delete{{Name: "a", UID: "a-uid"}}, Status: &batchv1.JobStatus{Failed: 1},
			Releases: release, Events: []event.Event{event.Normal("Completed", "Job completed")},
		},
		protocol.TerminatePodsActivity: protocol.TerminatePodsRequest{Job: reference, Termination: job.TerminateForSuspension},
		protocol.SetSuspendActivity:    protocol.SetSuspendRequest{Kind: protocol.JobKind, Object: reference, Wish: protocol.Wish{Suspend: true, At: scheduled}},
	}
}

// TestOnlyJobsOfOursAreActedFor: the Job is asked before anything else is done.
func TestOnlyJobsOfOursAreActedFor(t *testing.T) {
	builtIn, recreated, elsewhere := helloJob(), helloJob(), helloJob()
	builtIn.Spec.ManagedBy = nil
	recreated.UID = "new-uid"
	elsewhere.Namespace = "other"
	for name, owner := range map[string]*batchv1.Job{"another controller's": builtIn, "re-created": recreated, "in another namespace": elsewhere} {
		for activity, request := range jobRequests(jobRef) {
			t.Run(name+", "+activity, func(t *testing.T) {
				s := newStage(t, objects(owner, helloPod("a", corev1.PodFailed)), nil, withLogs(20, 4096))
				kept := s.saying("a secret")
				var result struct{ Gone, Foreign bool }
				var found protocol.JobResult
				if activity == protocol.SetSuspendActivity {
					answer := must[protocol.SetSuspendResult](s, activity, request)
					result.Gone, result.Foreign = answer.Gone, answer.Foreign
				} else {
					found = must[protocol.JobResult](s, activity, request)
					result.Gone, result.Foreign = found.Gone, found.Foreign
				}
				if foreign := owner == builtIn; result.Foreign != foreign || result.Gone == foreign {
					t.Errorf("result %+v", result)
				}
				if len(kept.requests)+len(found.Logs)+len(found.Unexpected)+len(found.Created) != 0 || len(s.writes()) != 0 || len(s.recorded()) != 0 {
					t.Errorf("writes %v, result %+v", s.writes(), found)
				}
			})
		}
	}
}

// TestReferencesThatNoObjectHas are refused before the API server is asked.
func TestReferencesThatNoObjectHas(t *testing.T) {
	for name, reference := range map[string]protocol.ObjectReference{
		"no uid":                  {Namespace: namespace, Name: jobName},
		"no name":                 {Namespace: namespace, UID: jobUID},
		"no namespace":            {Name: jobName, UID: jobUID},
		"a path for a name":       {Namespace: namespace, Name: "../../pods/a", UID: jobUID},
		"a path for a namespace":  {Namespace: "default/pods", Name: jobName, UID: jobUID},
		"a subresource in a name": {Namespace: namespace, Name: jobName + "/status", UID: jobUID},
	} {
		requests := jobRequests(reference)
		requests[protocol.StartRunActivity] = protocol.StartRunRequest{CronJob: reference, Start: *start()}
		for activity, request := range requests {
			t.Run(name+", "+activity, func(t *testing.T) {
				s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodFailed)), []*ostinatov1.CronJob{helloCronJob()})
				_, err := run[protocol.JobResult](s, activity, request)
				wantInvalid(t, err)
				if actions := append(s.kubernetes.Actions(), s.cronJobs.Actions()...); len(actions) != 0 {
					t.Errorf("requests %v", actions)
				}
			})
		}
	}
}

func wantInvalid(t *testing.T, err error) {
	t.Helper()
	var application *temporal.ApplicationError
	if !errors.As(err, &application) || !application.NonRetryable() || application.Type() != protocol.InvalidRequestErrorType {
		t.Errorf("error %v", err)
	}
}

func TestListsOfRequestsAreBounded(t *testing.T) {
	for name, test := range map[string]struct {
		activity string
		request  any
	}{
		"creates":             {protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: make([]job.Create, 501)}},
		"deletes":             {protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Deletes: make([]job.Delete, 501)}},
		"releases":            {protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Releases: make([]job.Release, 501)}},
		"events":              {protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Events: make([]event.Event, event.MaxPerRequest+1)}},
		"counted":             {protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Counted: make([]job.Counted, 10_001)}},
		"undecided":           {protocol.ListPodsActivity, protocol.ListPodsRequest{Job: jobRef, Undecided: make([]job.PodName, 20_001)}},
		"deleting":            {protocol.TerminatePodsActivity, protocol.TerminatePodsRequest{Job: jobRef, Termination: job.TerminateForSuspension, Deleting: make([]string, 20_001)}},
		"undecided at an end": {protocol.TerminatePodsActivity, protocol.TerminatePodsRequest{Job: jobRef, Termination: job.TerminateForVerdict, Undecided: make([]job.PodName, 20_001)}},
		"runs":                {protocol.FindRunsActivity, protocol.FindRunsRequest{CronJob: cronJobRef, Look: make([]schedule.Run, 51)}},
		"old runs":            {protocol.WriteStatusActivity, protocol.WriteStatusRequest{CronJob: cronJobRef, Prune: make([]schedule.Delete, 51)}},
		"replaced runs":       {protocol.StartRunActivity, protocol.StartRunRequest{CronJob: cronJobRef, Replace: make([]schedule.Delete, 3_501)}},
		"a starts events":     {protocol.StartRunActivity, protocol.StartRunRequest{CronJob: cronJobRef, Events: make([]event.Event, event.MaxPerRequest+1)}},
		"a CronJobs events":   {protocol.WriteStatusActivity, protocol.WriteStatusRequest{CronJob: cronJobRef, Events: make([]event.Event, event.MaxPerRequest+1)}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, []runtime.Object{helloJob()}, []*ostinatov1.CronJob{helloCronJob()})
			_, err := run[protocol.JobResult](s, test.activity, test.request)
			wantInvalid(t, err)
			if len(s.kubernetes.Actions()) != 0 {
				t.Errorf("requests %v", s.kubernetes.Actions())
			}
		})
	}
}

// TestJobThatIsNotThePlanned is left as it is.
func TestJobThatIsNotThePlanned(t *testing.T) {
	for activity, request := range map[string]any{
		protocol.CarryOutActivity: protocol.JobRequest{
			Job: jobRef, Digest: "another", Creates: creates(1), Deletes: []job.Delete{{Name: "a", UID: "a-uid"}}, Status: &batchv1.JobStatus{Active: 1},
		},
	} {
		t.Run(activity, func(t *testing.T) {
			s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning)), nil)
			result := must[protocol.JobResult](s, activity, request)
			if !result.Unplanned || result.CurrentSpec == nil || len(s.writes()) != 0 {
				t.Errorf("result %+v, writes %v", result, s.writes())
			}
		})
	}
}

// TestCreatesBeyondWhatRunsAreRefused: what the Job does not tell, its Pods do.
func TestCreatesBeyondWhatRunsAreRefused(t *testing.T) {
	running := func(name string) podBuilder { return helloPod(name, corev1.PodRunning) }
	indexed := indexedJob(4)
	indexed.Spec.Parallelism = ptr.To(int32(2))
	wanted := []job.Create{indexedCreate(2, 5), indexedCreate(3, 6)}
	for name, test := range map[string]struct {
		pods  []podBuilder
		makes bool
	}{
		"two run":                             {[]podBuilder{running("a"), running("b")}, false},
		"one runs":                            {[]podBuilder{running("a")}, false},
		"none runs":                           {nil, true},
		"an index is done that is wanted":     {[]podBuilder{helloPod("a", corev1.PodSucceeded).Annotated(batchv1.JobCompletionIndexAnnotation, "2")}, false},
		"another index is done":               {[]podBuilder{helloPod("a", corev1.PodSucceeded).Annotated(batchv1.JobCompletionIndexAnnotation, "1")}, true},
		"both have ended":                     {[]podBuilder{helloPod("a", corev1.PodSucceeded), helloPod("b", corev1.PodFailed)}, true},
		"both are being deleted":              {[]podBuilder{running("a").Deleting(), running("b").Deleting()}, true},
		"both are another's":                  {[]podBuilder{running("a").Of(otherJob()), running("b").Uncontrolled()}, true},
		"those that run are the wanted":       {[]podBuilder{running(wanted[0].Name), running(wanted[1].Name)}, true},
		"one of those that run is not wanted": {[]podBuilder{running(wanted[0].Name), running("b")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(indexed, test.pods...), nil)
			result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: wanted})
			if test.makes {
				if len(result.Created) != 2 || result.Refused != nil {
					t.Errorf("result %+v", result)
				}
				return
			}
			if result.Refused == nil || result.Refused.Reason != ledger.NotPrescribed || result.CurrentSpec == nil || len(s.writes()) != 0 {
				t.Errorf("result %+v, writes %v", result, s.writes())
			}
		})
	}
}

// TestNothingIsReadOfAPodThatIsNotTheJobs: a request for a log can't say whose the Pod
// must be.
func TestNothingIsReadOfAPodThatIsNotTheJobs(t *testing.T) {
	replicaSet := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web-uid", Controller: ptr.To(true)}
	for name, pod := range map[string]podBuilder{
		"another controller's": helloPod("a", corev1.PodFailed).By(replicaSet),
		"another Job's":        helloPod("a", corev1.PodFailed).Of(otherJob()),
		"nobody's":             helloPod("a", corev1.PodFailed).Uncontrolled(),
		"re-created":           helloPod("a", corev1.PodFailed).Identified("new-uid"),
		"of another namespace": helloPod("a", corev1.PodFailed).In("other"),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(helloJob(), pod), nil, withLogs(20, 4096))
			kept := s.saying("a secret")
			for activity, logs := range s.ends(release("a")) {
				if !slices.Equal(logs, []job.PodLog{{UID: "a-uid", Missing: "the Pod is gone"}}) {
					t.Errorf("%s: logs %+v", activity, logs)
				}
			}
			if len(kept.requests) != 0 {
				t.Errorf("requests %+v", kept.requests)
			}
		})
	}
}
