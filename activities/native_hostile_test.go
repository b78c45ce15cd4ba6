package activities_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// With take-over of CronJobs, whoever may write to Temporal can ask for either of the two
// that have one name. test/stack/hostile asks the same of a stack without take-over.

// twins are the references of the two CronJobs called hello, each with a Job that runs and
// one that has ended.
var twins = map[string]protocol.ObjectReference{"native": nativeRef, "ours": cronJobRef}

func twinStage(t *testing.T) *stage {
	t.Helper()
	builtIn := helloJob()
	builtIn.Spec.ManagedBy = nil
	stored := []runtime.Object{nativeCronJob(), builtIn, otherJob()}
	for who, reference := range twins {
		running, ended := cronJobsJob(who+"-runs"), finishedCronJobsJob(who+"-ended", batchv1.JobComplete)
		for _, one := range []*batchv1.Job{running, ended} {
			if reference.Native {
				one.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(nativeCronJob(), batchv1.SchemeGroupVersion.WithKind("CronJob"))}
			}
			stored = append(stored, one)
		}
	}
	return newStage(t, stored, []*ostinatov1.CronJob{helloCronJob()}, takingOverCronJobs, serving(namespace, "elsewhere"))
}

// wantNothingDone checks that nothing was written, and nothing said on an object.
func (s *stage) wantNothingDone() {
	s.t.Helper()
	if writes := s.writes(); len(writes) != 0 {
		s.t.Errorf("writes %v", writes)
	}
	if events := s.recorded(); len(events) != 0 {
		s.t.Errorf("events %v", events)
	}
}

// everythingOf asks each activity about a CronJob for all that it does.
func everythingOf(reference protocol.ObjectReference) map[string]any {
	trigger := names.TriggeredJob(reference.Name, reference.UID, 1)
	return map[string]any{
		protocol.StartRunActivity: protocol.StartRunRequest{
			CronJob: reference, Digest: schedule.SpecOf(helloCronJob()).Digest(),
			Start:   schedule.Start{Name: trigger, Scheduled: scheduled, Manual: true, Sequence: 1},
			Replace: deletesOfAll(true), Status: &ostinatov1.CronJobStatus{ObservedGeneration: 77},
			Events: []event.Event{event.Warning("FailedCreate", "by an attacker")},
		},
		protocol.WriteStatusActivity: protocol.WriteStatusRequest{
			CronJob: reference, Digest: schedule.SpecOf(helloCronJob()).Digest(),
			Prune: deletesOfAll(false), Status: &ostinatov1.CronJobStatus{ObservedGeneration: 77}, Judge: true,
			Events: []event.Event{event.Warning("FailedCreate", "by an attacker")},
		},
		protocol.FindRunsActivity:   protocol.FindRunsRequest{CronJob: reference, All: true},
		protocol.SetSuspendActivity: protocol.SetSuspendRequest{Kind: protocol.CronJobKind, Object: reference, Wish: protocol.Wish{Suspend: true, At: scheduled}},
	}
}

func deletesOfAll(replaced bool) []schedule.Delete {
	var deletes []schedule.Delete
	for _, name := range []string{"native-runs", "native-ended", "ours-runs", "ours-ended", jobName, "other"} {
		uid := name + "-uid"
		if name == jobName {
			uid = jobUID
		}
		deletes = append(deletes, schedule.Delete{Name: name, UID: uid, Replaced: replaced})
	}
	return deletes
}

// TestNoActivityActsForACronJobThatIsSaidToBeTheOther, nor for one that is not, by either
// name of its kind.
func TestNoActivityActsForACronJobThatIsSaidToBeTheOther(t *testing.T) {
	as := func(reference protocol.ObjectReference, change func(*protocol.ObjectReference)) protocol.ObjectReference {
		change(&reference)
		return reference
	}
	type attack struct {
		reference protocol.ObjectReference
		// refused is the type of the error; empty where the CronJob is said to be gone.
		refused string
	}
	tests := map[string]attack{
		"ours, said to be native": {as(cronJobRef, func(r *protocol.ObjectReference) { r.Native = true }), ""},
		"native, said to be ours": {as(nativeRef, func(r *protocol.ObjectReference) { r.Native = false }), ""},
	}
	for who, reference := range twins {
		tests[who+", before it was re-created"] = attack{as(reference, func(r *protocol.ObjectReference) { r.UID = "old-uid" }), ""}
		tests[who+", in another namespace"] = attack{as(reference, func(r *protocol.ObjectReference) { r.Namespace = "elsewhere" }), ""}
		tests[who+", of a Job"] = attack{as(reference, func(r *protocol.ObjectReference) { r.Name, r.UID = jobName, jobUID }), ""}
		tests[who+", in a namespace that is not served"] = attack{as(reference, func(r *protocol.ObjectReference) { r.Namespace = "bank" }), activities.NotServedErrorType}
		tests[who+", no UID"] = attack{as(reference, func(r *protocol.ObjectReference) { r.UID = "" }), protocol.InvalidRequestErrorType}
		tests[who+", a path"] = attack{as(reference, func(r *protocol.ObjectReference) { r.Name = "hello/status" }), protocol.InvalidRequestErrorType}
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		test := tests[name]
		for activity, request := range everythingOf(test.reference) {
			t.Run(name+"/"+activity, func(t *testing.T) {
				s := twinStage(t)
				result, err := run[struct{ Gone bool }](s, activity, request)
				if test.refused == "" && (err != nil || !result.Gone) {
					t.Errorf("result %+v, error %v", result, err)
				}
				if test.refused != "" {
					wantRefused(t, err, test.refused)
				}
				s.wantNothingDone()
			})
		}
	}
}

func wantRefused(t *testing.T, err error, kind string) {
	t.Helper()
	var refused *temporal.ApplicationError
	if !errors.As(err, &refused) || !refused.NonRetryable() || refused.Type() != kind {
		t.Errorf("error %v, want %s", err, kind)
	}
}

// TestOnlyRunsThatEitherCronJobPrescribesStart: also under the names of the other's.
func TestOnlyRunsThatEitherCronJobPrescribesStart(t *testing.T) {
	inAYear := time.Now().UTC().AddDate(1, 0, 0).Truncate(time.Minute)
	for who, reference := range twins {
		trigger := func(name string) schedule.Start {
			return schedule.Start{Name: name, Scheduled: scheduled, Manual: true, Sequence: 1}
		}
		other := cronJobRef
		if !reference.Native {
			other = nativeRef
		}
		for name, start := range map[string]schedule.Start{
			"no time of the schedule":  {Name: names.ScheduledJob("hello", scheduled.Add(time.Second)), Scheduled: scheduled.Add(time.Second)},
			"a time to come":           {Name: names.ScheduledJob("hello", inAYear), Scheduled: inAYear},
			"a name of his own":        {Name: "web", Scheduled: scheduled},
			"a trigger of his own":     trigger("web"),
			"a trigger of the other's": trigger(names.TriggeredJob("hello", other.UID, 1)),
		} {
			t.Run(who+"/"+name, func(t *testing.T) {
				s := twinStage(t)
				result := must[protocol.StartRunResult](s, protocol.StartRunActivity, protocol.StartRunRequest{
					CronJob: reference, Digest: schedule.SpecOf(helloCronJob()).Digest(), Start: start, Replace: deletesOfAll(true),
				})
				if result.Refused == nil || result.Refused.Reason != ledger.NotPrescribed {
					t.Errorf("result %+v", result)
				}
				s.wantNothingDone()
			})
		}
	}
}

// TestNoJobIsDeletedThatTheOtherCronJobControls, nor one of another controller, nor one
// that runs; and nothing is told of them.
func TestNoJobIsDeletedThatTheOtherCronJobControls(t *testing.T) {
	for who, reference := range twins {
		for _, target := range slices.Concat(deletesOfAll(false), deletesOfAll(true)) {
			if target.Name == who+"-ended" {
				continue // its own, which it may delete
			}
			how := "/as history/"
			if target.Replaced {
				how = "/as replaced/"
			}
			t.Run(who+how+target.Name, func(t *testing.T) {
				s := twinStage(t)
				digest, own := schedule.SpecOf(helloCronJob()).Digest(), strings.HasPrefix(target.Name, who)
				result := must[protocol.FindRunsResult](s, protocol.FindRunsActivity, protocol.FindRunsRequest{
					CronJob: reference, Digest: digest, Look: []schedule.Run{{Name: target.Name, UID: target.UID}},
				})
				if !own && (len(result.Running) != 0 || len(result.Ended) != 1 || result.Ended[0].Condition != schedule.JobDeleted || !result.Ended[0].StartTime.IsZero()) {
					t.Errorf("running %+v, ended %+v", result.Running, result.Ended)
				}
				s.wantNothingDone()
				if !target.Replaced {
					must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, protocol.WriteStatusRequest{CronJob: reference, Digest: digest, Prune: []schedule.Delete{target}})
					s.wantNothingDone()
					return
				}
				// A trigger may replace what runs only where it, or the CronJob, says so.
				started, err := run[protocol.StartRunResult](s, protocol.StartRunActivity, protocol.StartRunRequest{
					CronJob: reference, Digest: digest, Replace: []schedule.Delete{target},
					Start: schedule.Start{Name: names.TriggeredJob(reference.Name, reference.UID, 1), Scheduled: scheduled, Manual: true, Sequence: 1},
				})
				if own {
					if err != nil || started.Refused == nil || started.Started != nil {
						t.Errorf("result %+v, error %v; want it refused", started, err)
					}
					s.wantNothingDone()
				} else if err != nil || !s.jobExists(target.Name) {
					t.Errorf("error %v; the Job is there: %t", err, s.jobExists(target.Name))
				}
			})
		}
	}
}

// TestAPlanForAnotherSpecChangesNoCronJob: whichever of them it is for.
func TestAPlanForAnotherSpecChangesNoCronJob(t *testing.T) {
	for who, reference := range twins {
		t.Run(who, func(t *testing.T) {
			s, all := twinStage(t), everythingOf(reference)
			start := all[protocol.StartRunActivity].(protocol.StartRunRequest)
			start.Digest = "another"
			if result := must[protocol.StartRunResult](s, protocol.StartRunActivity, start); result.CurrentSpec == nil || result.Started != nil {
				t.Errorf("result %+v", result)
			}
			write := all[protocol.WriteStatusActivity].(protocol.WriteStatusRequest)
			write.Digest = "another"
			if result := must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, write); result.CurrentSpec == nil {
				t.Errorf("result %+v", result)
			}
			s.wantNothingDone()
		})
	}
}

// TestNoJobIsNative: native marks a CronJob of batch/v1, and nothing
// else.
func TestNoJobIsNative(t *testing.T) {
	said := jobRef
	said.Native = true
	requests := jobRequests(said)
	requests[protocol.ListPodsActivity] = protocol.ListPodsRequest{Job: said, Rebuild: true}
	requests[protocol.ReleaseOrphansActivity] = protocol.ReleaseOrphansRequest{Job: said}
	for how, with := range map[string]option{"without take-over": func(*activities.Options) {}, "with take-over": takingOverCronJobs} {
		for activity, request := range requests {
			t.Run(how+"/"+activity, func(t *testing.T) {
				s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodFailed)), nil, with)
				_, err := run[any](s, activity, request)
				wantInvalid(t, err)
				if asked := len(s.kubernetes.Actions()); asked > 0 {
					t.Errorf("%d requests to the API server", asked)
				}
			})
		}
	}
}
