package activities_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/testing/fixture"
)

func TestBulkCreateMakesEveryPodOnce(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob()}, nil)
	request := protocol.JobRequest{Job: jobRef, Creates: creates(150)}
	result := must[protocol.JobResult](s, protocol.CarryOutActivity, request)
	if len(result.Created) != 150 || len(s.writes()) != 150 {
		t.Fatalf("created %d with %d requests", len(result.Created), len(s.writes()))
	}
	for i, created := range result.Created {
		if created.Name != request.Creates[i].Name {
			t.Fatalf("Pod %d is %q, want the order of the creates", i, created.Name)
		}
	}
}

func TestBulkCreateOfAGoneJob(t *testing.T) {
	s := newStage(t, nil, nil)
	if result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates(2)}); !result.Gone {
		t.Errorf("result %+v", result)
	}
}

func TestBulkCreateReportsAnOutage(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob()}, nil)
	s.refuse("create", "pods", 1, errors.New("connection refused"))
	request := protocol.JobRequest{Job: jobRef, Creates: creates(20)}
	if _, err := run[protocol.JobResult](s, protocol.CarryOutActivity, request); err == nil {
		t.Fatal("the outage is no error")
	}
	if result := must[protocol.JobResult](s, protocol.CarryOutActivity, request); len(result.Created) != 20 {
		t.Errorf("created %d after the outage", len(result.Created))
	}
}

func TestBulkReleaseReportsAnOutage(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodSucceeded)), nil)
	s.refuse("patch", "pods", 2, errors.New("connection refused"))
	request := protocol.JobRequest{Job: jobRef, Releases: []job.Release{{Name: "a", UID: "a-uid", Phase: corev1.PodSucceeded}, {Name: "gone", UID: "gone-uid"}}}
	if _, err := run[protocol.JobResult](s, protocol.CarryOutActivity, request); err == nil {
		t.Fatal("the outage is no error")
	}
	if must[protocol.JobResult](s, protocol.CarryOutActivity, request); s.tracked("a") {
		t.Error("the Pod is not released")
	}
}

// TestBulkWorkIsRateLimited: with a burst of 10 and 10 a second, 15 take half a second.
func TestBulkWorkIsRateLimited(t *testing.T) {
	limited := func(options *activities.Options) { options.BulkQPS = 10 }
	var releases []job.Release
	var deletes []job.Delete
	var stored []fixture.Pod
	for i := range 15 {
		ended, running := fmt.Sprintf("ended-%d", i), fmt.Sprintf("running-%d", i)
		stored = append(stored, helloPod(ended, corev1.PodSucceeded), helloPod(running, corev1.PodRunning))
		releases = append(releases, job.Release{Name: ended, UID: ended + "-uid", Phase: corev1.PodSucceeded})
		deletes = append(deletes, job.Delete{Name: running, UID: running + "-uid"})
	}
	for name, request := range map[string]protocol.JobRequest{
		"creates":  {Job: jobRef, Creates: creates(15)},
		"deletes":  {Job: jobRef, Deletes: deletes},
		"releases": {Job: jobRef, Releases: releases},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(helloJob(), stored...), nil, limited)
			began := time.Now()
			must[protocol.JobResult](s, protocol.CarryOutActivity, request)
			if took := time.Since(began); took < 400*time.Millisecond {
				t.Errorf("done in %v", took)
			}
		})
	}
}
