package activities_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/testing/fixture"
)

var noAnswer = apierrors.NewTimeoutError("the request did not complete within the allotted time", 0)

// leaveUnanswered has the API server leave every nth request unanswered, and counts the requests.
func (s *stage) leaveUnanswered(nth int64, verb, resource string) *atomic.Int64 {
	requests := new(atomic.Int64)
	s.kubernetes.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		return requests.Add(1)%nth == 0, nil, noAnswer
	})
	return requests
}

// many are Pods of a phase, with the Job.
func many(owner *batchv1.Job, count int, phase corev1.PodPhase) []runtime.Object {
	var pods []fixture.Pod
	for n := range count {
		pods = append(pods, helloPod(fmt.Sprintf("p%d", n), phase))
	}
	return objects(owner, pods...)
}

// One create in a hundred has no answer: each plan makes some of the Pods, and the next ones make the rest.
func TestAPlanOfManyCreatesGetsForward(t *testing.T) {
	const all = 500
	owner := helloJob()
	owner.Spec.Parallelism, owner.Spec.Completions = new(int32(all)), new(int32(all))
	s := newStage(t, objects(owner), nil)
	posts := s.leaveUnanswered(97, "create", "pods")
	rest := creates(all)
	for plan := 1; len(rest) > 0; plan++ {
		if plan > 10 {
			t.Fatalf("%d Pods are missing after %d requests", len(rest), posts.Load())
		}
		result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: rest})
		if len(result.Created) < len(rest) && (result.Refused == nil || result.Refused.Reason != ledger.ServerError) {
			t.Fatalf("%d of %d created, refused %+v", len(result.Created), len(rest), result.Refused)
		}
		for _, made := range result.Created {
			rest = slices.DeleteFunc(rest, func(create job.Create) bool { return create.Name == made.Name })
		}
	}
	if posts.Load() > all*11/10 {
		t.Errorf("%d requests for %d Pods", posts.Load(), all)
	}
}

// Pods without an answer are reported, and all others are done with.
func TestAPlanOfManyDeletesOrReleasesGetsForward(t *testing.T) {
	const all = 500
	var deletes, removals []job.Delete
	var releases []job.Release
	for n := range all {
		name := fmt.Sprintf("p%d", n)
		deletes = append(deletes, job.Delete{Name: name, UID: name + "-uid"})
		removals = append(removals, job.Delete{Name: name, UID: name + "-uid", Release: true})
		releases = append(releases, job.Release{Name: name, UID: name + "-uid", Phase: corev1.PodSucceeded})
	}
	for name, test := range map[string]struct {
		phase    corev1.PodPhase
		verb     string
		request  protocol.JobRequest
		released bool
	}{
		"deletes":                  {corev1.PodRunning, "delete", protocol.JobRequest{Job: jobRef, Deletes: deletes}, false},
		"removals":                 {corev1.PodRunning, "patch", protocol.JobRequest{Job: jobRef, Deletes: removals}, false},
		"removals, with a release": {corev1.PodRunning, "delete", protocol.JobRequest{Job: jobRef, Deletes: removals}, true},
		"releases":                 {corev1.PodSucceeded, "patch", protocol.JobRequest{Job: jobRef, Releases: releases}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, many(helloJob(), all, test.phase), nil)
			s.leaveUnanswered(97, test.verb, "pods")
			result := must[protocol.JobResult](s, protocol.CarryOutActivity, test.request)
			if len(result.Failures) != all/97 || len(result.Vanished)+len(result.Unexpected) != 0 {
				t.Errorf("failures %v, vanished %d, unexpected %d", result.Failures, len(result.Vanished), len(result.Unexpected))
			}
			for _, failure := range result.Failures {
				if !failure.Unclear || failure.Released != test.released {
					t.Errorf("failure %+v", failure)
				}
			}
			left := slices.DeleteFunc(s.pods(), func(pod corev1.Pod) bool { return test.phase == corev1.PodSucceeded && !claim.Tracked(&pod) })
			if len(left) != all/97 {
				t.Errorf("%d Pods are left", len(left))
			}
		})
	}
}

// The API server goes away: the Pods that it has answered for are reported, and few others are tried.
func TestAnAPIServerThatGoesAwayIsNotAskedForEachPod(t *testing.T) {
	var releases []job.Release
	for n := range 500 {
		releases = append(releases, job.Release{Name: fmt.Sprintf("p%d", n), UID: fmt.Sprintf("p%d-uid", n), Phase: corev1.PodSucceeded})
	}
	s := newStage(t, many(helloJob(), 500, corev1.PodSucceeded), nil)
	var patches atomic.Int64
	s.kubernetes.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return patches.Add(1) > 100, nil, errors.New("connection refused")
	})
	result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Releases: releases})
	if len(result.Failures) != 400 || patches.Load() > 200 {
		t.Errorf("%d failures after %d requests", len(result.Failures), patches.Load())
	}
}

// The Pods are in the report although the status is not written: they need no other create.
func TestPodsAreReportedIfTheStatusHasNoAnswer(t *testing.T) {
	s := newStage(t, objects(helloJob()), nil)
	s.refuse("update", "jobs", 1, noAnswer)
	request := protocol.JobRequest{Job: jobRef, Creates: creates(1), Status: &batchv1.JobStatus{Active: 1}, Events: []event.Event{event.Normal("Resumed", "Job resumed")}}
	result := must[protocol.JobResult](s, protocol.CarryOutActivity, request)
	if len(result.Created) != 1 || result.Refused != nil || !strings.Contains(result.StatusRefused, "did not complete") || result.Current != nil {
		t.Errorf("result %+v", result)
	}
	if events := s.recorded(); slices.Contains(events, "Normal Resumed Job resumed") {
		t.Errorf("events %v", events)
	}
}

// Nor if a delete beside it has no answer.
func TestPodsAreReportedIfADeleteHasNoAnswer(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning)), nil)
	s.refuse("delete", "pods", 1, noAnswer)
	result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates(1), Deletes: []job.Delete{{Name: "a", UID: "a-uid"}}})
	if len(result.Created) != 1 || len(result.Failures) != 1 || !result.Failures[0].Unclear {
		t.Errorf("result %+v", result)
	}
}

// Another writer came first: the status is merged with what that has written, unless the attempt was given up meanwhile.
func TestAStatusInConflictIsMergedAnew(t *testing.T) {
	for name, test := range map[string]struct {
		conflicts int64
		givenUp   bool
		updates   int64
		written   bool
	}{
		"once":                          {1, false, 2, true},
		"for ever":                      {100, false, 5, false},
		"once, and the attempt is over": {1, true, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(helloJob()), nil)
			ctx, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			updates := new(atomic.Int64)
			s.kubernetes.PrependReactor("update", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
				if updates.Add(1) > test.conflicts {
					return false, nil, nil
				}
				if test.givenUp {
					giveUp()
				}
				current := helloJob()
				current.Status.Conditions = []batchv1.JobCondition{{Type: "example.com/Checked", Status: corev1.ConditionTrue}}
				err := s.kubernetes.Tracker().Update(batchv1.SchemeGroupVersion.WithResource("jobs"), current, namespace)
				return true, nil, cmp.Or(err, error(apierrors.NewConflict(batchv1.Resource("jobs"), jobName, errors.New("modified"))))
			})
			_ = s.attempt(ctx, protocol.JobRequest{Job: jobRef, Creates: creates(1), Status: &batchv1.JobStatus{Active: 1}})
			stored := s.job(jobName).Status
			if updates.Load() != test.updates || (stored.Active == 1) != test.written || len(stored.Conditions) != 1 {
				t.Errorf("%d updates, status %+v", updates.Load(), stored)
			}
		})
	}
}

// A termination whose deletes are answered but for one in a hundred needs a second attempt for these, and no more.
func TestATerminationOfManyPodsGetsForward(t *testing.T) {
	s := newStage(t, many(suspendedJob(), 500, corev1.PodRunning), nil)
	deletes := s.leaveUnanswered(97, "delete", "pods")
	request := protocol.TerminatePodsRequest{Job: jobRef, Termination: job.TerminateForSuspension}
	if list, err := run[protocol.PodList](s, protocol.TerminatePodsActivity, request); err == nil {
		t.Errorf("the answer is a list of %d Pods, though some deletes had no answer", len(list.Facts))
	}
	if left := len(s.pods()); left != 500/97 {
		t.Errorf("%d Pods are left after %d deletes", left, deletes.Load())
	}
	if list := must[protocol.PodList](s, protocol.TerminatePodsActivity, request); len(list.Failures) > 0 || len(s.pods()) > 0 {
		t.Errorf("%d Pods are left, failures %v", len(s.pods()), list.Failures)
	}
}

// A conflict says that the Pod is another one now, or it is an admission webhook's: the Pod tells.
func TestADeleteInConflictIsRead(t *testing.T) {
	conflict := apierrors.NewConflict(pods, "a", errors.New("denied by the webhook"))
	for name, test := range map[string]struct {
		// now is the Pod as it is after the conflict; nil if it is gone.
		now      *corev1.Pod
		vanished bool
	}{
		"it is gone":               {nil, true},
		"another one has its name": {helloPod("a", corev1.PodRunning).Identified("new-uid").Pod, true},
		"it runs on":               {helloPod("a", corev1.PodRunning).Pod, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning)), nil)
			s.kubernetes.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				resource := corev1.SchemeGroupVersion.WithResource("pods")
				err := s.kubernetes.Tracker().Delete(resource, namespace, "a")
				if err == nil && test.now != nil {
					err = s.kubernetes.Tracker().Add(test.now)
				}
				if err != nil {
					t.Error(err)
				}
				return true, nil, conflict
			})
			result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Deletes: []job.Delete{{Name: "a", UID: "a-uid"}}})
			if gone := slices.Equal(result.Vanished, []string{"a-uid"}); gone != test.vanished {
				t.Errorf("vanished %v", result.Vanished)
			}
			failed := len(result.Failures) == 1 && strings.Contains(result.Failures[0].Message, "denied by the webhook") && !result.Failures[0].Unclear
			if failed == test.vanished {
				t.Errorf("failures %+v", result.Failures)
			}
			if said := slices.ContainsFunc(s.recorded(), func(event string) bool { return strings.HasPrefix(event, "Warning FailedDelete ") }); said == test.vanished {
				t.Errorf("an Event says that the delete failed: %v", said)
			}
		})
	}
}
