package activities_test

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// TestAPodIsCountedOnce although a status in between does not name it: what the Job notes stays noted until the Pod is released.
func TestAPodIsCountedOnce(t *testing.T) {
	owner := helloJob()
	owner.Spec.Completions, owner.Spec.BackoffLimit = ptr.To[int32](3), ptr.To[int32](6)
	s := asMade(t, owner, helloPod("a", corev1.PodFailed))
	count := func(failed int32, counted ...job.Counted) protocol.JobResult {
		return must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Status: &batchv1.JobStatus{Failed: failed}, Counted: counted})
	}
	a := countedAs(job.PodFailed, "a")[0]
	count(1, a)
	count(1)
	if result := count(2, a); result.Unfounded == "" {
		t.Errorf("it is counted twice: %+v", result)
	}
	var others []job.Counted
	for n := range 150 {
		pod := helloPod(fmt.Sprint("other-", n), corev1.PodFailed)
		others = append(others, countedAs(job.PodFailed, pod.Name)...)
		if err := s.kubernetes.Tracker().Add(pod.Pod); err != nil {
			t.Fatal(err)
		}
	}
	count(151, others...)
	for _, one := range others {
		if err := s.kubernetes.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), namespace, one.Name); err != nil {
			t.Fatal(err)
		}
	}
	count(151)
	if note := s.job(jobName).Annotations[names.CountedAnnotation]; note != "a-uid" {
		t.Errorf("noted %q", note)
	}
}

// TestANumberOfPodsIsSeen: by how many Pods the Job's status has, those are judged that are gone.
func TestANumberOfPodsIsSeen(t *testing.T) {
	for name, test := range map[string]struct {
		status, own       batchv1.JobStatus
		creates           int
		unfounded, unseen bool
	}{
		"as many as there are":        {status: batchv1.JobStatus{Active: 1}, own: batchv1.JobStatus{StartTime: &metav1.Time{}}},
		"more are active":             {status: batchv1.JobStatus{Active: 3}, own: batchv1.JobStatus{StartTime: &metav1.Time{}}, unfounded: true},
		"more terminate":              {status: batchv1.JobStatus{Active: 1, Terminating: ptr.To[int32](7)}, unfounded: true},
		"more since they are made":    {status: batchv1.JobStatus{Active: 2}, creates: 1},
		"an end, and one runs":        {status: complete(1), own: batchv1.JobStatus{Succeeded: 1, Active: 1}, unseen: true},
		"an end, and one that is not": {status: complete(1), own: batchv1.JobStatus{Succeeded: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			owner := helloJob()
			owner.Spec.Parallelism, owner.Spec.Completions, owner.Status = ptr.To[int32](2), ptr.To[int32](2), test.own
			if test.own.Succeeded > 0 {
				owner.Spec.Completions = ptr.To[int32](1)
			}
			s := asMade(t, owner, helloPod("a", corev1.PodRunning))
			result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Status: &test.status, Creates: creates(1)[:test.creates]})
			if result.Unfounded != "" != test.unfounded || len(result.Unseen) > 0 != test.unseen || (len(s.writes()) == 0) != (test.unfounded || test.unseen) {
				t.Errorf("unfounded %q, unseen %v, writes %v", result.Unfounded, result.Unseen, s.writes())
			}
		})
	}
}

func complete(succeeded int32) batchv1.JobStatus {
	return batchv1.JobStatus{Succeeded: succeeded, Conditions: []batchv1.JobCondition{
		condition(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonCompletionsReached), condition(batchv1.JobComplete, batchv1.JobReasonCompletionsReached),
	}}
}

// TestAJobStartsNow: by its start its deadline is judged.
func TestAJobStartsNow(t *testing.T) {
	for ago, refused := range map[time.Duration]bool{time.Minute: false, time.Hour: true} {
		owner := helloJob()
		s := asMade(t, owner)
		owner.CreationTimestamp = metav1.NewTime(time.Now().Add(-24 * time.Hour))
		if err := s.kubernetes.Tracker().Update(batchv1.SchemeGroupVersion.WithResource("jobs"), owner, namespace); err != nil {
			t.Fatal(err)
		}
		started := metav1.NewTime(time.Now().Add(-ago))
		result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Status: &batchv1.JobStatus{StartTime: &started}})
		if (result.Unfounded != "") != refused || (len(s.writes()) == 0) != refused {
			t.Errorf("%v ago: unfounded %q, writes %v", ago, result.Unfounded, s.writes())
		}
	}
}

// TestNoPodIsEndedSinceNoneIsLeft: a work queue with a success goes on until its Pods have ended by themselves.
func TestNoPodIsEndedSinceNoneIsLeft(t *testing.T) {
	owner := helloJob()
	owner.Spec.Completions = nil
	s := asMade(t, owner, helloPod("a", corev1.PodSucceeded), helloPod("b", corev1.PodRunning))
	list := must[protocol.PodList](s, protocol.TerminatePodsActivity, protocol.TerminatePodsRequest{
		Job: jobRef, Termination: job.TerminateForVerdict, Status: &batchv1.JobStatus{Succeeded: 1}, Counted: countedAs(job.PodSucceeded, "a"),
		Verdict: job.Verdict{Interim: batchv1.JobSuccessCriteriaMet, Reason: batchv1.JobReasonCompletionsReached},
	})
	if list.Refuted == nil || len(s.writes()) != 0 {
		t.Errorf("refuted %+v, writes %v", list.Refuted, s.writes())
	}
}
