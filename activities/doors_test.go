package activities_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/testing/fixture"
	"ostinato.dev/ostinato/internal/testing/fixture/asking"
)

// An activity serves the workflow of its own object alone: nothing is asked of the API server for another.
func TestAnActivityServesItsObjectsOwnWorkflowAlone(t *testing.T) {
	for name, request := range elsewhere {
		own := asking.Own(request)
		twin := names.Cluster("").NativeCronJobWorkflowID(cronJobRef.Namespace, cronJobRef.Name)
		for who, by := range map[string]asking.Workflow{
			"none":                         {Type: "none", ID: ""},
			"another ID":                   {Type: own.Type, ID: "attack"},
			"another object's":             {Type: own.Type, ID: own.ID + "-2"},
			"another type":                 {Type: "Attack", ID: own.ID},
			"the watch":                    {Type: protocol.PodWatchWorkflow, ID: names.Cluster("").PodWatchWorkflowID(0, 1)},
			"the one of the other kind":    {Type: map[string]string{protocol.JobWorkflow: protocol.CronJobWorkflow, protocol.CronJobWorkflow: protocol.JobWorkflow}[own.Type], ID: own.ID},
			"that of the native CronJob":   {Type: protocol.CronJobWorkflow, ID: twin},
			"that of another cluster":      {Type: own.Type, ID: "east/" + own.ID},
			"that of the ID in upper case": {Type: own.Type, ID: "JOB/default/hello-1"},
		} {
			t.Run(name+", "+who, func(t *testing.T) {
				s := newStage(t, []runtime.Object{helloJob(), helloPod("a", corev1.PodRunning).Pod}, []*ostinatov1.CronJob{helloCronJob()})
				s.by = func(any) asking.Workflow { return by }
				_, err := run[any](s, name, request)
				var refused *temporal.ApplicationError
				if !errors.As(err, &refused) || refused.Type() != activities.OtherWorkflowErrorType || !refused.NonRetryable() {
					t.Fatalf("error %v", err)
				}
				if got := s.metric(requestsRefused, name, activities.OtherWorkflowErrorType); got != 1 {
					t.Errorf("counted %v times", got)
				}
				if asked := len(s.kubernetes.Actions()) + len(s.cronJobs.Actions()); asked > 0 {
					t.Errorf("%d requests to the API server", asked)
				}
			})
		}
	}
}

// What a request names and what is not there costs no request for each.
func TestObjectsThatAreNotThereCostLittle(t *testing.T) {
	const most = 100
	var deletes []job.Delete
	var releases []job.Release
	var old []schedule.Delete
	for n := range job.MaxPods {
		deletes = append(deletes, job.Delete{Name: fmt.Sprintf("d%d", n), UID: fmt.Sprintf("d%d", n)})
		releases = append(releases, job.Release{Name: fmt.Sprintf("r%d", n), UID: fmt.Sprintf("r%d", n), Phase: corev1.PodFailed, Logs: true})
	}
	for n := range schedule.MaxDeletes {
		old = append(old, schedule.Delete{Name: fmt.Sprintf("old-%d", n), UID: fmt.Sprintf("o%d", n), Replaced: true})
	}
	trigger := schedule.Start{Name: names.TriggeredJob("hello", "cron-uid", 1), Scheduled: scheduled, Manual: true, Sequence: 1}
	for name, test := range map[string]struct {
		activity string
		request  any
		// gone is how many are said to be gone; those that no status counts are not looked for.
		gone int
	}{
		"deletes and releases":   {protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Deletes: deletes, Releases: releases}, 2 * job.MaxPods},
		"releases":               {protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Releases: releases}, job.MaxPods},
		"releases with a status": {protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Status: &batchv1.JobStatus{Active: 1}, Releases: releases}, 0},
		"Jobs to prune":          {protocol.WriteStatusActivity, protocol.WriteStatusRequest{CronJob: cronJobRef, Prune: old[:schedule.MaxPruned]}, schedule.MaxPruned},
		"Jobs to replace":        {protocol.StartRunActivity, protocol.StartRunRequest{CronJob: cronJobRef, Start: trigger, Replace: old}, len(old)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, []runtime.Object{helloJob(), helloPod("a", corev1.PodRunning).Pod}, []*ostinatov1.CronJob{helloCronJob()}, withLogs(20, 4096))
			gone := map[string]func() int{
				protocol.CarryOutActivity:    func() int { return len(must[protocol.JobResult](s, test.activity, test.request).Vanished) },
				protocol.WriteStatusActivity: func() int { return len(must[protocol.WriteStatusResult](s, test.activity, test.request).Pruned) },
				protocol.StartRunActivity:    func() int { return len(must[protocol.StartRunResult](s, test.activity, test.request).Replaced) },
			}[test.activity]()
			if gone != test.gone {
				t.Errorf("%d are said to be gone, want %d", gone, test.gone)
			}
			if asked := len(s.kubernetes.Actions()) + len(s.cronJobs.Actions()); asked >= most {
				t.Errorf("%d requests to the API server, want fewer than %d", asked, most)
			}
		})
	}
}

// Pods that are there are acted on, however many that are not there are named before them.
func TestPodsThatAreThereAreFoundAmongMany(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning), helloPod("b", corev1.PodSucceeded), helloPod("c", corev1.PodRunning)), nil)
	request := protocol.JobRequest{Job: jobRef}
	for n := range 100 {
		request.Deletes = append(request.Deletes, job.Delete{Name: fmt.Sprintf("d%d", n), UID: fmt.Sprintf("d%d", n)})
	}
	request.Deletes = append(request.Deletes, job.Delete{Name: "a", UID: "a-uid"})
	request.Releases = []job.Release{{Name: "b", UID: "b-uid", Phase: corev1.PodSucceeded}, {Name: "c", UID: "c-uid"}}
	result := must[protocol.JobResult](s, protocol.CarryOutActivity, request)
	if len(result.Vanished) != 100 {
		t.Errorf("%d Pods are said to have vanished, want 100", len(result.Vanished))
	}
	if s.tracked("b") || s.tracked("c") {
		t.Errorf("tracked: the Pod that has succeeded %t, the one that runs %t", s.tracked("b"), s.tracked("c"))
	}
	if writes := s.writes(); !slices.Contains(writes, "delete pods a") {
		t.Errorf("the Pod that is there was not deleted: %v", writes)
	}
}

// A Pod of the Job whose labels were changed is found by the label of its watch.
func TestAPodOfOtherLabelsIsFoundAmongMany(t *testing.T) {
	pod := helloPod("b", corev1.PodSucceeded)
	delete(pod.Labels, batchv1.ControllerUidLabel)
	s := newStage(t, objects(helloJob(), pod), nil)
	request := protocol.JobRequest{Job: jobRef}
	for n := range 100 {
		request.Deletes = append(request.Deletes, job.Delete{Name: fmt.Sprintf("d%d", n), UID: fmt.Sprintf("d%d", n)})
	}
	request.Releases = []job.Release{{Name: "b", UID: "b-uid", Phase: corev1.PodSucceeded}}
	if result := must[protocol.JobResult](s, protocol.CarryOutActivity, request); len(result.Vanished) != 100 || s.tracked("b") {
		t.Errorf("%d Pods are said to have vanished, want 100; the other one is tracked: %t", len(result.Vanished), s.tracked("b"))
	}
}

// If the list fails, nothing is said of the Pods that it was to judge.
func TestWithoutAListNoPodIsSaidToBeGone(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning), helloPod("b", corev1.PodSucceeded)), nil)
	s.refuse("list", "pods", 1, errors.New("connection refused"))
	request := protocol.JobRequest{Job: jobRef}
	for n := range 100 {
		request.Deletes = append(request.Deletes, job.Delete{Name: fmt.Sprintf("d%d", n), UID: fmt.Sprintf("d%d", n)})
	}
	request.Deletes = append(request.Deletes, job.Delete{Name: "a", UID: "a-uid"})
	result := must[protocol.JobResult](s, protocol.CarryOutActivity, request)
	if gone, open := len(result.Vanished), len(result.Failures); gone == 100 || gone+open != 101 || slices.Contains(result.Vanished, "a-uid") {
		t.Errorf("%d Pods are said to be gone, and %d to have no answer", gone, open)
	}
	for _, failure := range result.Failures {
		if !failure.Unclear {
			t.Errorf("a Pod that no list has judged: %+v", failure)
		}
	}
}

// Pods that are gone with their release have been there: a plan of many such costs no list.
func TestPodsThatGoWithTheirReleaseHaveNotStrayed(t *testing.T) {
	var pods []fixture.Pod
	request := protocol.JobRequest{Job: jobRef}
	for n := range 100 {
		name := fmt.Sprintf("p%d", n)
		pod := helloPod(name, corev1.PodFailed).Finalized(names.TrackingFinalizer)
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: scheduled}, new(int64(0))
		pods = append(pods, pod)
		request.Releases = append(request.Releases, job.Release{Name: name, UID: name + "-uid", Phase: corev1.PodFailed})
	}
	s := newStage(t, objects(helloJob(), pods...), nil)
	if result := must[protocol.JobResult](s, protocol.CarryOutActivity, request); len(result.Vanished) != len(pods) {
		t.Errorf("%d Pods have vanished, want %d", len(result.Vanished), len(pods))
	}
	for _, action := range s.kubernetes.Actions() {
		if action.Matches("list", "pods") {
			t.Error("the Pods were listed")
		}
	}
}

// The times of a status have come, and lastScheduleTime never falls.
func TestTimesOfAStatus(t *testing.T) {
	now := scheduled.Add(30 * time.Second)
	minutes := func(n int) *metav1.Time { return &metav1.Time{Time: now.Add(time.Duration(n) * time.Minute)} }
	for name, test := range map[string]struct {
		stored, written ostinatov1.CronJobStatus
		// want is lastScheduleTime after the write; failed: it was not written.
		want   *metav1.Time
		failed bool
	}{
		"the first":                 {ostinatov1.CronJobStatus{}, ostinatov1.CronJobStatus{LastScheduleTime: minutes(0)}, minutes(0), false},
		"a later one":               {ostinatov1.CronJobStatus{LastScheduleTime: minutes(-5)}, ostinatov1.CronJobStatus{LastScheduleTime: minutes(0)}, minutes(0), false},
		"an earlier one":            {ostinatov1.CronJobStatus{LastScheduleTime: minutes(-5)}, ostinatov1.CronJobStatus{LastScheduleTime: minutes(-6)}, minutes(-5), false},
		"none":                      {ostinatov1.CronJobStatus{LastScheduleTime: minutes(-5)}, ostinatov1.CronJobStatus{}, minutes(-5), false},
		"by a clock that is ahead":  {ostinatov1.CronJobStatus{LastScheduleTime: minutes(-5)}, ostinatov1.CronJobStatus{LastScheduleTime: minutes(1)}, minutes(1), false},
		"one that has not come":     {ostinatov1.CronJobStatus{LastScheduleTime: minutes(-5)}, ostinatov1.CronJobStatus{LastScheduleTime: minutes(2)}, minutes(-5), true},
		"the one that there is":     {ostinatov1.CronJobStatus{LastScheduleTime: minutes(90)}, ostinatov1.CronJobStatus{LastScheduleTime: minutes(90)}, minutes(90), false},
		"accounted for what is not": {ostinatov1.CronJobStatus{LastScheduleTime: minutes(-5)}, ostinatov1.CronJobStatus{AccountedUntil: minutes(2)}, minutes(-5), true},
	} {
		t.Run(name, func(t *testing.T) {
			cronJob := helloCronJob()
			cronJob.Status = test.stored
			s := newStage(t, nil, []*ostinatov1.CronJob{cronJob}, withClock(clocktesting.NewFakeClock(now)))
			result := must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, protocol.WriteStatusRequest{CronJob: cronJobRef, Status: &test.written})
			if (result.StatusFailed != "") != test.failed {
				t.Errorf("not written for %q", result.StatusFailed)
			}
			if counted := s.metric(requestsRefused, protocol.WriteStatusActivity, ledger.NotPrescribed); counted > 0 != test.failed {
				t.Errorf("counted as refused %v times", counted)
			}
			if got := s.cronJobs.Stored(namespace, "hello").Status.LastScheduleTime; !got.Equal(test.want) {
				t.Errorf("lastScheduleTime is %v, want %v", got, test.want)
			}
		})
	}
}
