package activities_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/protocol"
)

func TestEventsAreWrittenAsUpstreamDoes(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob()}, []*ostinatov1.CronJob{helloCronJob()})
	recorders, stop := activities.StartEvents(t.Context(), s.kubernetes)
	t.Cleanup(stop)
	s.options.Events = recorders
	s.activities = activities.New(s.options)
	must[protocol.JobResult](s, protocol.ReconcileJobActivity, protocol.JobRequest{Job: jobRef, Events: []event.Event{event.Normal("Completed", "Job completed")}})
	must[protocol.CronJobResult](s, protocol.ReconcileCronJobActivity, protocol.CronJobRequest{CronJob: cronJobRef, Events: []event.Event{event.Warning("MissingJob", "Active job went missing: x")}})

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
	onJob, onCronJob := find("Completed"), find("MissingJob")
	if onJob.Source.Component != "job-controller" || onJob.Type != "Normal" || onJob.Message != "Job completed" ||
		onJob.InvolvedObject != (corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: namespace, Name: jobName, UID: jobUID}) {
		t.Errorf("Event on the Job: %+v", onJob)
	}
	if onCronJob.Source.Component != "cronjob-controller" || onCronJob.Type != "Warning" ||
		onCronJob.InvolvedObject != (corev1.ObjectReference{APIVersion: "batch.ostinato.dev/v1", Kind: "CronJob", Namespace: namespace, Name: "hello", UID: "cron-uid"}) {
		t.Errorf("Event on the CronJob: %+v", onCronJob)
	}
}
