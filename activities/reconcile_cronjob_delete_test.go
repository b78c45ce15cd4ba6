package activities_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// cronJobsJob is a running Job that the CronJob hello controls.
func cronJobsJob(name string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(name + "-uid"),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(helloCronJob(), ostinatov1.CronJobKind)},
	}}
}

func finishedCronJobsJob(name string, kind batchv1.JobConditionType) *batchv1.Job {
	ended := cronJobsJob(name)
	ended.Status.Conditions = []batchv1.JobCondition{condition(kind, "")}
	return ended
}

func concurrent(policy batchv1.ConcurrencyPolicy) *ostinatov1.CronJob {
	cronJob := helloCronJob()
	cronJob.Spec.ConcurrencyPolicy = policy
	return cronJob
}

// jobExists looks past all reactors.
func (s *stage) jobExists(name string) bool {
	_, err := s.kubernetes.Tracker().Get(batchv1.SchemeGroupVersion.WithResource("jobs"), namespace, name)
	return err == nil
}

func TestDeletesOfJobs(t *testing.T) {
	s := newStage(t, []runtime.Object{finishedCronJobsJob("old", batchv1.JobComplete), cronJobsJob("running")}, []*ostinatov1.CronJob{concurrent(batchv1.ReplaceConcurrent)})
	started := must[protocol.StartRunResult](s, protocol.StartRunActivity, protocol.StartRunRequest{
		CronJob: cronJobRef, Start: *start(), Replace: []schedule.Delete{{Name: "running", UID: "running-uid"}, {Name: "vanished", UID: "vanished-uid"}},
	})
	written := must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, protocol.WriteStatusRequest{
		CronJob: cronJobRef, Prune: []schedule.Delete{{Name: "old", UID: "old-uid"}, {Name: "gone", UID: "gone-uid"}},
	})
	if !slices.Equal(started.Replaced, []string{"running", "vanished"}) || !slices.Equal(written.Pruned, []string{"old", "gone"}) {
		t.Errorf("replaced %v, pruned %v", started.Replaced, written.Pruned)
	}
	events := s.recorded()
	slices.Sort(events)
	if !slices.Equal(events, []string{"Normal SuccessfulCreate Created job " + start().Name, "Normal SuccessfulDelete Deleted job old", "Normal SuccessfulDelete Deleted job running"}) {
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
	stage := func(old *batchv1.Job) *stage {
		s := newStage(t, []runtime.Object{old}, []*ostinatov1.CronJob{concurrent(batchv1.ReplaceConcurrent)})
		s.refuse("delete", "jobs", -1, forbidden)
		return s
	}
	request := startRequest()

	s := stage(cronJobsJob("old"))
	request.Replace = []schedule.Delete{{Name: "old", UID: "old-uid", Replaced: true}}
	refused := must[protocol.StartRunResult](s, protocol.StartRunActivity, request).Refused
	if refused == nil || !strings.Contains(refused.Message, "forbidden") {
		t.Errorf("refused %+v, want the API server's words about the delete", refused)
	}
	if slices.Contains(s.writes(), "create jobs "+start().Name) {
		t.Error("a run started beside the one it replaces")
	}
	if events := s.recorded(); !slices.Contains(events, "Warning FailedDelete Deleted job: "+forbidden.Error()) {
		t.Errorf("events %v", events)
	}

	s = stage(finishedCronJobsJob("old", batchv1.JobComplete))
	result := must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, protocol.WriteStatusRequest{
		CronJob: cronJobRef, Status: startRequest().Status, Prune: []schedule.Delete{{Name: "old", UID: "old-uid"}},
	})
	if len(result.Pruned) != 0 || s.cronJob().Status.ObservedGeneration != 3 {
		t.Errorf("history clean-up that failed stops the status: %+v", result)
	}
}

// An earlier attempt had no answer, and its Job is there.
func TestARunWhoseJobIsThereHasStarted(t *testing.T) {
	replacing := func() protocol.StartRunRequest {
		request := startRequest()
		request.Replace = []schedule.Delete{{Name: "old", UID: "old-uid", Replaced: true}}
		return request
	}
	t.Run("if the delete of the run that it replaces is refused", func(t *testing.T) {
		s := newStage(t, []runtime.Object{cronJobsJob("old"), cronJobsJob(start().Name)}, []*ostinatov1.CronJob{concurrent(batchv1.ReplaceConcurrent)})
		s.refuse("delete", "jobs", -1, apierrors.NewForbidden(jobs, "old", errors.New("no")))
		result := must[protocol.StartRunResult](s, protocol.StartRunActivity, replacing())
		if result.Started == nil || result.Refused != nil || !result.StatusLeft {
			t.Errorf("result %+v", result)
		}
	})
	t.Run("and the run that it replaces is gone", func(t *testing.T) {
		cronJob := concurrent(batchv1.ReplaceConcurrent)
		cronJob.Status.Active = []corev1.ObjectReference{{Name: start().Name, UID: types.UID(start().Name + "-uid")}}
		s := newStage(t, []runtime.Object{cronJobsJob(start().Name)}, []*ostinatov1.CronJob{cronJob})
		result := must[protocol.StartRunResult](s, protocol.StartRunActivity, replacing())
		if result.Started == nil || !slices.Equal(result.Replaced, []string{"old"}) {
			t.Errorf("result %+v", result)
		}
	})
}

// A Job may change between the read and the delete of it, which only the API server can tell.
func TestWhatIsReplacedIsTheRunThatWasRead(t *testing.T) {
	for name, test := range map[string]struct {
		happens  func(*batchv1.Job)
		deleted  bool
		replaced []string
		ended    int
	}{
		"it has ended":       {happens: func(j *batchv1.Job) { j.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobComplete, "")} }, ended: 1},
		"it has been edited": {happens: func(j *batchv1.Job) { j.Labels = map[string]string{"some": "label"} }, deleted: true, replaced: []string{"running"}},
		"it is another":      {happens: func(j *batchv1.Job) { j.UID = "another" }, replaced: []string{"running"}},
	} {
		t.Run(name, func(t *testing.T) {
			running := cronJobsJob("running")
			running.ResourceVersion = "1"
			s := newStage(t, []runtime.Object{running}, []*ostinatov1.CronJob{concurrent(batchv1.ReplaceConcurrent)})
			happened := false
			s.kubernetes.PrependReactor("delete", "jobs", func(action clienttesting.Action) (bool, runtime.Object, error) {
				stored := running.DeepCopy()
				stored.ResourceVersion = "2"
				test.happens(stored)
				if !happened {
					happened = true
					if err := s.kubernetes.Tracker().Update(action.GetResource(), stored, namespace); err != nil {
						t.Error(err)
					}
				}
				wanted := action.(clienttesting.DeleteActionImpl).DeleteOptions.Preconditions
				if *wanted.UID != stored.UID || wanted.ResourceVersion != nil && *wanted.ResourceVersion != stored.ResourceVersion {
					return true, nil, apierrors.NewConflict(jobs, stored.Name, errors.New("the precondition does not hold"))
				}
				return false, nil, nil
			})
			request := startRequest()
			request.Replace = []schedule.Delete{{Name: "running", UID: "running-uid", Replaced: true}}
			result := must[protocol.StartRunResult](s, protocol.StartRunActivity, request)
			if result.Started == nil || !slices.Equal(result.Replaced, test.replaced) || len(result.Ended) != test.ended {
				t.Errorf("result %+v", result)
			}
			if s.jobExists("running") == test.deleted {
				t.Errorf("deleted %t, want %t", !s.jobExists("running"), test.deleted)
			}
			if said := slices.Contains(s.recorded(), "Normal SuccessfulDelete Deleted job running"); said != test.deleted {
				t.Errorf("the Event of its delete was emitted: %t", said)
			}
		})
	}
}

// TestARunThatHasEndedIsNotReplaced: its Pods and their logs stay, and the plan is told of its end. The status that was
// planned says otherwise.
func TestARunThatHasEndedIsNotReplaced(t *testing.T) {
	for _, kind := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		t.Run(string(kind), func(t *testing.T) {
			s := newStage(t, []runtime.Object{finishedCronJobsJob("ended", kind), cronJobsJob("running")}, []*ostinatov1.CronJob{concurrent(batchv1.ReplaceConcurrent)})
			request := startRequest()
			request.Replace = []schedule.Delete{{Name: "ended", UID: "ended-uid", Replaced: true}, {Name: "running", UID: "running-uid", Replaced: true}}
			result := must[protocol.StartRunResult](s, protocol.StartRunActivity, request)
			if !s.jobExists("ended") || s.jobExists("running") || !slices.Equal(result.Replaced, []string{"running"}) {
				t.Errorf("deleted %v", result.Replaced)
			}
			if result.Started == nil || !s.jobExists(start().Name) {
				t.Errorf("result %+v", result)
			}
			if len(result.Ended) != 1 || result.Ended[0].Run.UID != "ended-uid" || result.Ended[0].Condition != kind {
				t.Errorf("ended %+v", result.Ended)
			}
			if writes := s.writes(); slices.Contains(writes, "update cronjobs/status hello") {
				t.Errorf("writes %v", writes)
			}
		})
	}
}

// TestJobsThatAreNotToBeDeleted: what a request says of a Job may be made up.
func TestJobsThatAreNotToBeDeleted(t *testing.T) {
	another := finishedCronJobsJob("a", batchv1.JobComplete)
	another.OwnerReferences[0].UID = "another-uid"
	nobodys := finishedCronJobsJob("a", batchv1.JobComplete)
	nobodys.OwnerReferences = nil
	upstream := finishedCronJobsJob("a", batchv1.JobComplete)
	upstream.OwnerReferences[0].APIVersion, upstream.OwnerReferences[0].UID = "batch/v1", "native-uid"
	recreated := finishedCronJobsJob("a", batchv1.JobComplete)
	recreated.UID = "new-uid"
	tests := map[string]struct {
		stored   *batchv1.Job
		policy   batchv1.ConcurrencyPolicy
		replaced bool
		// forgotten: the plan is told that it has no such Job; refused: it is told that it may not.
		forgotten, refused bool
	}{
		"another CronJob's":                  {stored: another, forgotten: true},
		"another CronJob's, as if replaced":  {stored: another, policy: batchv1.ReplaceConcurrent, replaced: true, forgotten: true},
		"batch/v1's of the same name":        {stored: upstream, forgotten: true},
		"nobody's":                           {stored: nobodys, forgotten: true},
		"re-created":                         {stored: recreated, forgotten: true},
		"one that runs, as history":          {stored: cronJobsJob("a"), policy: batchv1.ReplaceConcurrent},
		"one that runs, as replaced, Allow":  {stored: cronJobsJob("a"), policy: batchv1.AllowConcurrent, replaced: true, refused: true},
		"one that runs, as replaced, Forbid": {stored: cronJobsJob("a"), policy: batchv1.ForbidConcurrent, replaced: true, refused: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, []runtime.Object{test.stored}, []*ostinatov1.CronJob{concurrent(test.policy)})
			var gone []string
			refused := false
			target := []schedule.Delete{{Name: "a", UID: "a-uid"}}
			if test.replaced {
				result := must[protocol.StartRunResult](s, protocol.StartRunActivity, protocol.StartRunRequest{CronJob: cronJobRef, Start: *start(), Replace: target})
				gone, refused = result.Replaced, result.Refused != nil
			} else {
				gone = must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, protocol.WriteStatusRequest{CronJob: cronJobRef, Prune: target}).Pruned
			}
			if refused != test.refused || (len(gone) == 1) != test.forgotten {
				t.Errorf("deleted %v, refused %t", gone, refused)
			}
			if deletes := slices.IndexFunc(s.writes(), func(write string) bool { return strings.HasPrefix(write, "delete") }); !s.jobExists("a") || deletes >= 0 {
				t.Errorf("writes %v", s.writes())
			}
		})
	}
}

func TestRunsThatAreSaidToHaveEndedAreLookedUp(t *testing.T) {
	begin, end := metav1.NewTime(scheduled), metav1.NewTime(scheduled.Add(1e9))
	complete := finishedCronJobsJob("complete", batchv1.JobComplete)
	complete.Status.StartTime, complete.Status.CompletionTime = &begin, &end
	recreated := cronJobsJob("recreated")
	recreated.UID = "new-uid"
	anothers := finishedCronJobsJob("anothers", batchv1.JobFailed)
	anothers.OwnerReferences[0].UID = "another-uid"
	s := newStage(t, []runtime.Object{
		complete, finishedCronJobsJob("failed", batchv1.JobFailed), cronJobsJob("running"), recreated, anothers,
	}, []*ostinatov1.CronJob{helloCronJob()})
	var look []schedule.Run
	for _, name := range []string{"complete", "failed", "running", "recreated", "anothers", "gone"} {
		look = append(look, schedule.Run{Name: name, UID: name + "-uid", Scheduled: scheduled})
	}
	result := must[protocol.FindRunsResult](s, protocol.FindRunsActivity, protocol.FindRunsRequest{CronJob: cronJobRef, Look: look})
	outcomes := map[string]batchv1.JobConditionType{}
	for _, ended := range result.Ended {
		outcomes[ended.Run.Name] = ended.Condition
	}
	want := map[string]batchv1.JobConditionType{
		"complete": batchv1.JobComplete, "failed": batchv1.JobFailed,
		"recreated": schedule.JobDeleted, "anothers": schedule.JobDeleted, "gone": schedule.JobDeleted,
	}
	for _, run := range look {
		if outcomes[run.Name] != want[run.Name] {
			t.Errorf("%s: %q, want %q", run.Name, outcomes[run.Name], want[run.Name])
		}
	}
	if first := result.Ended[0]; !first.StartTime.Equal(scheduled) || !first.CompletionTime.Equal(end.Time) {
		t.Errorf("ended %+v", first)
	}
}

// The API server says of one Job that it can't read, or is itself not fit to answer.
func TestLookReportsAnOutage(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		outage bool
	}{
		"not reached":         {errors.New("connection refused"), true},
		"overloaded":          {apierrors.NewTooManyRequests("later", 1), true},
		"away":                {apierrors.NewServiceUnavailable("starting"), true},
		"too slow":            {apierrors.NewTimeoutError("it takes long", 1), true},
		"storage is too slow": {apierrors.NewServerTimeout(jobs, "get", 1), true},
		"not known to it":     {apierrors.NewUnauthorized("who are you?"), true},
		"one Job is broken":   {apierrors.NewInternalError(errors.New("unable to decode")), false},
		"one name is none":    {apierrors.NewBadRequest("not a name"), false},
		"one is forbidden":    {apierrors.NewForbidden(jobs, "one", errors.New("no")), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, []runtime.Object{finishedCronJobsJob("other", batchv1.JobComplete)}, []*ostinatov1.CronJob{helloCronJob()})
			s.kubernetes.PrependReactor("get", "jobs", func(action clienttesting.Action) (bool, runtime.Object, error) {
				return action.(clienttesting.GetAction).GetName() == "one", nil, test.err
			})
			result, err := run[protocol.FindRunsResult](s, protocol.FindRunsActivity, protocol.FindRunsRequest{
				CronJob: cronJobRef, Look: []schedule.Run{{Name: "one", UID: "one-uid"}, {Name: "other", UID: "other-uid"}},
			})
			if (err != nil) != test.outage {
				t.Fatalf("error %v", err)
			}
			if test.outage {
				return
			}
			if len(result.Ended) != 1 || result.Ended[0].Run.Name != "other" || result.Ended[0].Condition != batchv1.JobComplete || len(result.Running) != 0 {
				t.Errorf("result %+v, want the other run and no word about the one", result)
			}
		})
	}
}
