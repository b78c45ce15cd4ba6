package activities_test

import (
	"errors"
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

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
	result, err := runIn[protocol.JobResult](environment, protocol.CreatePodsActivity, request)
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

func TestBulkDeleteRemovesWhatIsLeft(t *testing.T) {
	objects := []runtime.Object{helloJob()}
	var deletes []job.Delete
	for i := range 100 {
		name := fmt.Sprintf("pod-%03d", i)
		objects = append(objects, helloPod(name, corev1.PodRunning).Pod)
		deletes = append(deletes, job.Delete{Name: name, UID: name + "-uid"})
	}
	s := newStage(t, objects, nil)
	environment := s.environment()
	environment.SetHeartbeatDetails(60)
	_, err := runIn[protocol.JobResult](environment, protocol.DeletePodsActivity, protocol.DeletePodsRequest{Job: jobRef, Deletes: deletes})
	if err != nil || len(s.writes()) != 40 {
		t.Errorf("%d deletes after the heartbeat of 60, error %v", len(s.writes()), err)
	}
}

func TestReleasePodsOfAGoneJob(t *testing.T) {
	manual := helloPod("manual", corev1.PodRunning)
	manual.Labels[batchv1.ControllerUidLabel] = "other-uid"
	tests := map[string]struct {
		pods     []podBuilder
		released int
	}{
		"running, finished and cut loose": {[]podBuilder{
			helloPod("a", corev1.PodRunning), helloPod("b", corev1.PodFailed), helloPod("c", corev1.PodRunning).uncontrolled(),
			helloPod("d", corev1.PodSucceeded).released(),
		}, 3},
		"manual selector: by controller": {[]podBuilder{manual}, 1},
		"none":                           {nil, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var objects []runtime.Object
			for _, pod := range test.pods {
				objects = append(objects, pod.Pod)
			}
			s := newStage(t, objects, nil)
			request := protocol.ReleasePodsRequest{Job: jobRef}
			if result := must[protocol.ReleasePodsResult](s, protocol.ReleasePodsActivity, request); result.Released != test.released {
				t.Errorf("released %d, want %d", result.Released, test.released)
			}
			if again := must[protocol.ReleasePodsResult](s, protocol.ReleasePodsActivity, request); again.Released != 0 {
				t.Errorf("released %d a second time", again.Released)
			}
		})
	}
}

func TestReleasePodsLeavesAnotherJobsPods(t *testing.T) {
	other := helloPod("a", corev1.PodRunning)
	other.OwnerReferences[0].UID = "other-uid"
	s := newStage(t, []runtime.Object{other.Pod}, nil)
	if result := must[protocol.ReleasePodsResult](s, protocol.ReleasePodsActivity, protocol.ReleasePodsRequest{Job: jobRef}); result.Released != 0 {
		t.Errorf("released %d Pods of another Job", result.Released)
	}
}

func TestListPodsGivesFactsInOrder(t *testing.T) {
	s := newStage(t, []runtime.Object{
		helloPod("b", corev1.PodRunning).ready(true).Pod, helloPod("a", corev1.PodSucceeded).released().Pod,
	}, nil)
	result := must[protocol.PodFacts](s, protocol.ListPodsActivity, protocol.ListPodsRequest{Job: jobRef})
	if result.JobUID != jobUID || len(result.Facts) != 2 || result.Facts[0].Name != "a" || result.Facts[0].Tracked || !result.Facts[1].Ready {
		t.Errorf("facts %+v", result)
	}
}
