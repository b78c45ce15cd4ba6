package activities_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// seen reports whether PodWatch sees the Pod.
func (s *stage) seen(name string) bool {
	s.t.Helper()
	_, labelled := s.pod(name).Labels[names.WatchBucketLabel]
	return labelled
}

func TestReleaseOrphansOfAGoneJob(t *testing.T) {
	manual := helloPod("manual", corev1.PodRunning)
	manual.Labels[batchv1.ControllerUidLabel] = "other-uid"
	tests := map[string]struct {
		pods     []podBuilder
		released int
	}{
		"running, finished and cut loose": {[]podBuilder{
			helloPod("a", corev1.PodRunning), helloPod("b", corev1.PodFailed), helloPod("c", corev1.PodRunning).Uncontrolled(),
			helloPod("d", corev1.PodSucceeded).Released(),
		}, 3},
		"manual selector: by controller":            {[]podBuilder{manual}, 1},
		"some with labels of their own":             {[]podBuilder{helloPod("a", corev1.PodRunning), helloPod("b", corev1.PodRunning).Stranger()}, 2},
		"never watched, where no Job is taken over": {[]podBuilder{helloPod("a", corev1.PodRunning).Unseen()}, 0},
		"none": {nil, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var objects []runtime.Object
			for _, pod := range test.pods {
				objects = append(objects, pod.Pod)
			}
			s := newStage(t, objects, nil)
			request := protocol.ReleaseOrphansRequest{Job: jobRef}
			if result := must[protocol.ReleaseOrphansResult](s, protocol.ReleaseOrphansActivity, request); result.Released != test.released {
				t.Errorf("released %d, want %d", result.Released, test.released)
			}
			if again := must[protocol.ReleaseOrphansResult](s, protocol.ReleaseOrphansActivity, request); again.Released != 0 {
				t.Errorf("released %d a second time", again.Released)
			}
		})
	}
}

func TestReleaseOrphansLeavesAnotherJobsPods(t *testing.T) {
	other := helloPod("a", corev1.PodRunning)
	other.OwnerReferences[0].UID = "other-uid"
	s := newStage(t, []runtime.Object{other.Pod}, nil)
	if result := must[protocol.ReleaseOrphansResult](s, protocol.ReleaseOrphansActivity, protocol.ReleaseOrphansRequest{Job: jobRef}); result.Released != 0 {
		t.Errorf("released %d Pods of another Job", result.Released)
	}
}

// TestReleaseOrphansLeavesTheLabelOnWhatRuns: PodWatch need not see the others again.
func TestReleaseOrphansLeavesTheLabelOnWhatRuns(t *testing.T) {
	s := newStage(t, []runtime.Object{helloPod("ended", corev1.PodFailed).Pod, helloPod("running", corev1.PodRunning).Pod}, nil)
	must[protocol.ReleaseOrphansResult](s, protocol.ReleaseOrphansActivity, protocol.ReleaseOrphansRequest{Job: jobRef})
	if s.seen("ended") || !s.seen("running") {
		t.Errorf("seen by PodWatch: ended %v, running %v", s.seen("ended"), s.seen("running"))
	}
}

// TestOnePodThatCantBeReleasedKeepsNoOtherOfADeletedJob, though they are released in
// batches.
func TestOnePodThatCantBeReleasedKeepsNoOtherOfADeletedJob(t *testing.T) {
	orphans := []podBuilder{helloPod("bad", corev1.PodRunning)}
	for i := range 250 {
		orphans = append(orphans, helloPod(fmt.Sprintf("pod-%03d", i), corev1.PodRunning))
	}
	s := newStage(t, objects(helloJob(), orphans...)[1:], nil)
	s.refusePod("patch", "bad", apierrors.NewForbidden(pods, "bad", errors.New("a policy")))
	_, err := run[protocol.ReleaseOrphansResult](s, protocol.ReleaseOrphansActivity, protocol.ReleaseOrphansRequest{Job: jobRef})
	if err == nil || !strings.Contains(err.Error(), "1 of 251: release Pod bad") {
		t.Errorf("error %v", err)
	}
	for _, pod := range orphans {
		if tracked := s.tracked(pod.Name); tracked != (pod.Name == "bad") {
			t.Errorf("Pod %s has the finalizer: %v", pod.Name, tracked)
		}
	}
}

// TestWhatIsEndedWithItsJobSaysSo: a run that another replaces, or that a person deletes, leaves its log.
func TestWhatIsEndedWithItsJobSaysSo(t *testing.T) {
	running := func() podBuilder {
		pod := helloPod("a", corev1.PodRunning)
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		return pod
	}
	deleted := helloJob()
	deleted.DeletionTimestamp = running().Deleting().DeletionTimestamp
	type answers map[string]string
	for name, test := range map[string]struct {
		owner     *batchv1.Job
		pod       podBuilder
		collected bool
		want      answers
	}{
		"it is deleted with its Job":              {pod: running().Deleting(), want: answers{"a-uid": "last words"}},
		"garbage collection comes later":          {pod: running(), collected: true, want: answers{"a-uid": "last words"}},
		"garbage collection does not come":        {pod: running(), want: answers{"a-uid": "the Pod has not failed"}},
		"it failed just now":                      {pod: helloPod("a", corev1.PodFailed), want: answers{"a-uid": "last words"}},
		"its Job is being deleted":                {owner: deleted, pod: running().Deleting(), want: answers{"a-uid": "last words"}},
		"it succeeded":                            {pod: helloPod("a", corev1.PodSucceeded).Deleting()},
		"the built-in controller was first":       {pod: running().Deleting().Released(), want: answers{"a-uid": "last words"}},
		"it was counted":                          {pod: helloPod("a", corev1.PodFailed).Deleting().Released()},
		"its Job lives":                           {owner: helloJob(), pod: running().Deleting()},
		"it is another Job's":                     {pod: running().Deleting().Of(otherJob())},
		"it names the Job, and has no controller": {pod: running().Deleting().Uncontrolled().MadeElsewhere().Unseen()},
	} {
		t.Run(name, func(t *testing.T) {
			all := []runtime.Object{test.pod.Pod}
			if test.owner != nil {
				all = append(all, test.owner)
			}
			s := newStage(t, all, nil, withLogs(20, 4096))
			s.saying("last words")
			if test.collected {
				s.collects("a", 300*time.Millisecond)
			}
			result := must[protocol.ReleaseOrphansResult](s, protocol.ReleaseOrphansActivity, protocol.ReleaseOrphansRequest{Job: jobRef, Evidence: true})
			got := answers{}
			for _, log := range result.Logs {
				got[log.UID] = log.Lines + log.Missing
			}
			if len(result.Ended) != len(test.want) || !maps.Equal(got, test.want) {
				t.Errorf("ended %+v, logs %+v, want %v", result.Ended, result.Logs, test.want)
			}
			if again := must[protocol.ReleaseOrphansResult](s, protocol.ReleaseOrphansActivity, protocol.ReleaseOrphansRequest{Job: jobRef}); again.Ended != nil || again.Logs != nil {
				t.Errorf("without being asked for evidence: %+v", again)
			}
		})
	}
}
