package activities_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
)

func TestBulkCreateMakesEveryPodOnce(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob()}, nil)
	request := protocol.CreatePodsRequest{Job: jobRef, Creates: creates(150)}
	result := must[protocol.JobResult](s, protocol.CreatePodsActivity, request)
	if len(result.Created) != 150 || len(s.writes()) != 150 {
		t.Fatalf("created %d with %d requests", len(result.Created), len(s.writes()))
	}
	for i, created := range result.Created {
		if created.Name != request.Creates[i].Name {
			t.Fatalf("Pod %d is %q, want the order of the creates", i, created.Name)
		}
	}
}

func TestBulkCreateGoesOnWhereItLeftOff(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob()}, nil)
	request := protocol.CreatePodsRequest{Job: jobRef, Creates: creates(20)}
	reported := []protocol.CreatedPod{}
	for _, create := range request.Creates[:15] {
		reported = append(reported, protocol.CreatedPod{Name: create.Name, UID: create.Name + "-uid"})
	}
	environment := s.environment()
	environment.SetHeartbeatDetails(reported)
	result, err := runIn[protocol.JobResult](s, environment, protocol.CreatePodsActivity, request)
	if err != nil || len(result.Created) != 20 || len(s.writes()) != 5 {
		t.Errorf("created %d with %d requests, error %v", len(result.Created), len(s.writes()), err)
	}
}

func TestBulkCreateOfAGoneJob(t *testing.T) {
	s := newStage(t, nil, nil)
	if result := must[protocol.JobResult](s, protocol.CreatePodsActivity, protocol.CreatePodsRequest{Job: jobRef, Creates: creates(2)}); !result.Gone {
		t.Errorf("result %+v", result)
	}
}

func TestBulkCreateReportsAnOutage(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob()}, nil)
	s.refuse("create", "pods", 1, errors.New("connection refused"))
	request := protocol.CreatePodsRequest{Job: jobRef, Creates: creates(20)}
	if _, err := run[protocol.JobResult](s, protocol.CreatePodsActivity, request); err == nil {
		t.Fatal("the outage is no error")
	}
	if result := must[protocol.JobResult](s, protocol.CreatePodsActivity, request); len(result.Created) != 20 {
		t.Errorf("created %d after the outage", len(result.Created))
	}
}

func TestBulkDeleteGoesOnWhereItLeftOff(t *testing.T) {
	objects := []runtime.Object{helloJob()}
	var deletes []job.Delete
	for i := range 100 {
		name := fmt.Sprintf("pod-%03d", i)
		objects = append(objects, helloPod(name, corev1.PodRunning).Pod)
		deletes = append(deletes, job.Delete{Name: name, UID: name + "-uid"})
	}
	s := newStage(t, objects, nil)
	environment := s.environment()
	environment.SetHeartbeatDetails(map[string]any{"done": 60, "result": map[string]any{"vanished": []string{"seen-before"}}})
	result, err := runIn[protocol.JobResult](s, environment, protocol.DeletePodsActivity, protocol.DeletePodsRequest{Job: jobRef, Deletes: deletes})
	if err != nil || len(s.writes()) != 40 {
		t.Errorf("%d deletes after the heartbeat of 60, error %v", len(s.writes()), err)
	}
	if !slices.Equal(result.Vanished, []string{"seen-before"}) {
		t.Errorf("what came to light before the heartbeat is lost: %+v", result)
	}
}

func TestBulkReleaseGoesOnWhereItLeftOff(t *testing.T) {
	owned := []podBuilder{}
	var releases []job.Release
	for i := range 100 {
		name := fmt.Sprintf("pod-%03d", i)
		owned = append(owned, helloPod(name, corev1.PodSucceeded))
		releases = append(releases, job.Release{Name: name, UID: name + "-uid", Phase: corev1.PodSucceeded})
	}
	s := newStage(t, objects(helloJob(), owned...), nil, withLogs(20, 4096))
	kept := s.saying("text")
	releases[99].Logs, releases[0].Logs = true, true
	environment := s.environment()
	environment.SetHeartbeatDetails(map[string]any{
		"done":   60,
		"result": protocol.JobResult{Logs: []job.PodLog{{UID: "pod-000-uid", Lines: "read before"}, {UID: "pod-099-uid", Missing: "timeout"}}},
	})
	result, err := runIn[protocol.JobResult](s, environment, protocol.ReleasePodsActivity, protocol.ReleasePodsRequest{Job: jobRef, Releases: releases})
	if err != nil || len(s.writes()) != 40 {
		t.Errorf("%d releases after the heartbeat of 60, error %v", len(s.writes()), err)
	}
	if len(result.Logs) != 2 || result.Logs[0].Lines != "read before" || len(kept.requests) != 0 {
		t.Errorf("logs %+v, %d requests", result.Logs, len(kept.requests))
	}
}

func TestBulkReleaseReportsAnOutage(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodSucceeded)), nil)
	s.refuse("patch", "pods", 1, errors.New("connection refused"))
	request := protocol.ReleasePodsRequest{Job: jobRef, Releases: []job.Release{{Name: "a", UID: "a-uid", Phase: corev1.PodSucceeded}, {Name: "gone", UID: "gone-uid"}}}
	if _, err := run[protocol.JobResult](s, protocol.ReleasePodsActivity, request); err == nil {
		t.Fatal("the outage is no error")
	}
	if must[protocol.JobResult](s, protocol.ReleasePodsActivity, request); s.tracked("a") {
		t.Error("the Pod is not released")
	}
}

// TestBulkWorkIsRateLimited: with a burst of 10 and 10 a second, 15 take half a second.
func TestBulkWorkIsRateLimited(t *testing.T) {
	limited := func(options *activities.Options) { options.BulkQPS = 10 }
	var releases []job.Release
	var deletes []job.Delete
	for i := range 15 {
		releases = append(releases, job.Release{Name: fmt.Sprint(i)})
		deletes = append(deletes, job.Delete{Name: fmt.Sprint(i)})
	}
	for activity, request := range map[string]any{
		protocol.CreatePodsActivity:  protocol.CreatePodsRequest{Job: jobRef, Creates: creates(15)},
		protocol.DeletePodsActivity:  protocol.DeletePodsRequest{Job: jobRef, Deletes: deletes},
		protocol.ReleasePodsActivity: protocol.ReleasePodsRequest{Job: jobRef, Releases: releases},
	} {
		t.Run(activity, func(t *testing.T) {
			s := newStage(t, objects(helloJob()), nil, limited)
			began := time.Now()
			must[protocol.JobResult](s, activity, request)
			if took := time.Since(began); took < 400*time.Millisecond {
				t.Errorf("done in %v", took)
			}
		})
	}
}
