package activities_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
)

func TestEventsAreWrittenAsUpstreamDoes(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob()}, []*ostinatov1.CronJob{helloCronJob()})
	recorders, stop := activities.StartEvents(t.Context(), s.kubernetes, prometheus.NewRegistry())
	t.Cleanup(stop)
	s.options.Events = recorders
	s.activities = activities.New(s.options)
	must[protocol.JobResult](s, protocol.ReconcileJobActivity, protocol.JobRequest{Job: jobRef, Events: []event.Event{event.Normal("Completed", "Job completed")}})
	must[protocol.CronJobResult](s, protocol.ReconcileCronJobActivity, protocol.CronJobRequest{CronJob: cronJobRef, Events: []event.Event{event.Warning("UnexpectedJob", "Active job went missing: x")}})

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

// TestEventsAboutManyPodsAreFew: 25 of a reason pass in one go, as upstream's own
// limit has it; they neither fill the queue nor hide how the Job ended.
func TestEventsAboutManyPodsAreFew(t *testing.T) {
	t.Run("of one activity", func(t *testing.T) {
		s := newStage(t, []runtime.Object{helloJob()}, nil)
		var deletes []job.Delete
		for _, created := range must[protocol.JobResult](s, protocol.CreatePodsActivity, protocol.CreatePodsRequest{Job: jobRef, Creates: creates(200)}).Created {
			deletes = append(deletes, job.Delete{Name: created.Name, UID: created.UID})
		}
		if events := s.recorded(); len(events) != 25 {
			t.Errorf("%d events about 200 creates", len(events))
		}
		must[protocol.JobResult](s, protocol.DeletePodsActivity, protocol.DeletePodsRequest{Job: jobRef, Deletes: deletes})
		if events := s.recorded(); len(events) != 25 {
			t.Errorf("%d events about 200 deletes", len(events))
		}
	})
	t.Run("written", func(t *testing.T) {
		s := newStage(t, []runtime.Object{helloJob()}, nil)
		recorders, stop := activities.StartEvents(t.Context(), s.kubernetes, prometheus.NewRegistry())
		t.Cleanup(stop)
		s.options.Events = recorders
		s.activities = activities.New(s.options)
		for range 3 {
			must[protocol.JobResult](s, protocol.CreatePodsActivity, protocol.CreatePodsRequest{Job: jobRef, Creates: creates(100)})
			if err := s.kubernetes.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), namespace, creates(1)[0].Name); err != nil {
				t.Fatal(err)
			}
		}
		must[protocol.JobResult](s, protocol.ReconcileJobActivity, protocol.JobRequest{Job: jobRef, Events: []event.Event{event.Normal("Completed", "Job completed")}})
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
