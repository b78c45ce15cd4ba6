package activities_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

func TestEventsAreWrittenAsUpstreamDoes(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob()}, []*ostinatov1.CronJob{helloCronJob()})
	recorders, stop := activities.StartEvents(t.Context(), s.kubernetes, prometheus.NewRegistry())
	t.Cleanup(stop)
	s.options.Events = recorders
	s.activities = activities.New(s.options)
	must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Events: []event.Event{event.Normal("Completed", "Job completed")}})
	must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, protocol.WriteStatusRequest{CronJob: cronJobRef, Events: []event.Event{event.Warning("UnexpectedJob", "Active job went missing: x")}})

	var written []corev1.Event
	eventually(t, "both Events are written", func() bool {
		list, err := s.kubernetes.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		written = list.Items
		return len(written) == 2
	})
	find := func(reason string) corev1.Event {
		i := slices.IndexFunc(written, func(event corev1.Event) bool { return event.Reason == reason })
		if i < 0 {
			t.Fatalf("no Event %s in %v", reason, written)
		}
		return written[i]
	}
	onJob, onCronJob := find("Completed"), find("UnexpectedJob")
	if onJob.Source.Component != "job-controller" || onJob.Type != "Normal" || onJob.Message != "Job completed" ||
		onJob.InvolvedObject != (corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: namespace, Name: jobName, UID: jobUID}) {
		t.Errorf("Event on the Job: %+v", onJob)
	}
	if onCronJob.Source.Component != "cronjob-controller" || onCronJob.Type != "Warning" ||
		onCronJob.InvolvedObject != (corev1.ObjectReference{APIVersion: "batch.ostinato.dev/v1", Kind: "CronJob", Namespace: namespace, Name: "hello", UID: "cron-uid"}) {
		t.Errorf("Event on the CronJob: %+v", onCronJob)
	}
}

// TestEventsOfAnActivityAreFew: 25 in sum pass, as upstream's own limit has it. Those that are
// asked for come first, and what went well leaves room for what did not.
func TestEventsOfAnActivityAreFew(t *testing.T) {
	var stored []runtime.Object
	var deletes []schedule.Delete
	for n := range schedule.MaxPruned {
		one := finishedCronJobsJob(fmt.Sprintf("old-%d", n), batchv1.JobComplete)
		stored, deletes = append(stored, one), append(deletes, schedule.Delete{Name: one.Name, UID: string(one.UID)})
	}
	for _, asked := range []int{0, 10, event.MaxPerRequest} {
		t.Run(fmt.Sprintf("50 deletes and %d that are asked for", asked), func(t *testing.T) {
			s := newStage(t, stored, []*ostinatov1.CronJob{helloCronJob()})
			request := protocol.WriteStatusRequest{CronJob: cronJobRef, Prune: deletes}
			for range asked {
				request.Events = append(request.Events, event.Warning("UnexpectedJob", "x"))
			}
			if result := must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, request); len(result.Pruned) != schedule.MaxPruned {
				t.Errorf("%d Jobs are deleted", len(result.Pruned))
			}
			events, unexpected := s.recorded(), 0
			for _, one := range events {
				if strings.HasPrefix(one, "Warning UnexpectedJob") {
					unexpected++
				}
			}
			if len(events) > 25 || len(events) < 15 || unexpected < min(asked, 20) {
				t.Errorf("%d Events, %d of them were asked for", len(events), unexpected)
			}
		})
	}
	t.Run("creates and deletes of one request", func(t *testing.T) {
		s := newStage(t, []runtime.Object{helloJob()}, nil)
		s.refuse("delete", "pods", -1, apierrors.NewForbidden(corev1.Resource("pods"), "x", nil))
		request := protocol.JobRequest{Job: jobRef, Creates: creates(20)[10:], Events: []event.Event{event.Normal("Completed", "Job completed")}}
		for range 9 {
			request.Events = append(request.Events, event.Warning("InvalidAnnotation", "x"))
		}
		for _, created := range must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates(10)}).Created {
			request.Deletes = append(request.Deletes, job.Delete{Name: created.Name, UID: created.UID})
		}
		s.recorded()
		must[protocol.JobResult](s, protocol.CarryOutActivity, request)
		if events := s.recorded(); len(events) > 25 || !slices.Contains(events, "Normal Completed Job completed") {
			t.Errorf("%d Events: %q", len(events), events)
		}
	})
	t.Run("a refusal after many creates", func(t *testing.T) {
		s := newStage(t, []runtime.Object{helloJob()}, nil)
		created := 0
		s.kubernetes.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			created++
			return created > 70, nil, apierrors.NewForbidden(corev1.Resource("pods"), "x", errors.New("exceeded quota"))
		})
		must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates(100)})
		if events := s.recorded(); len(events) > 25 || !slices.ContainsFunc(events, func(one string) bool { return strings.HasPrefix(one, "Warning FailedCreate") }) {
			t.Errorf("%d Events: %q", len(events), events)
		}
	})
}

// TestEventsAboutManyPodsAreFew: they neither fill the queue nor hide how the Job ended.
func TestEventsAboutManyPodsAreFew(t *testing.T) {
	t.Run("written", func(t *testing.T) {
		s := newStage(t, []runtime.Object{helloJob()}, nil)
		recorders, stop := activities.StartEvents(t.Context(), s.kubernetes, prometheus.NewRegistry())
		t.Cleanup(stop)
		s.options.Events = recorders
		s.activities = activities.New(s.options)
		for range 3 {
			must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates(100)})
			if err := s.kubernetes.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), namespace, creates(1)[0].Name); err != nil {
				t.Fatal(err)
			}
		}
		must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Events: []event.Event{event.Normal("Completed", "Job completed")}})
		eventually(t, "the Job's end is written", func() bool {
			list, err := s.kubernetes.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return slices.ContainsFunc(list.Items, func(event corev1.Event) bool { return event.Reason == "Completed" })
		})
		writes := slices.DeleteFunc(s.writes(), func(write string) bool { return !strings.Contains(write, " events ") })
		if len(writes) > 26 {
			t.Errorf("%d writes of Events", len(writes))
		}
	})
}
