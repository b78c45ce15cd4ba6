package activities

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// BenchmarkAddedToARun is what judging and bounding costs one run of a CronJob with one Pod, as often as such a run does each:
// what is decoded is decoded here as a whole, though only the bounds of it are an addition.
func BenchmarkAddedToARun(b *testing.B) {
	now := time.Date(2026, 1, 1, 0, 0, 30, 0, time.UTC)
	cronJob := &ostinatov1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "hello", UID: "hello-uid", CreationTimestamp: metav1.Time{Time: now.Add(-time.Hour)}},
		Spec:       ostinatov1.CronJobSpec{Schedule: "* * * * *"},
	}
	reference := protocol.ObjectReference{Namespace: "shop", Name: "hello-1", UID: "4b1f6a4e-2d53-4f6b-9b0e-0c1f2a3b4c5d"}
	status := batchv1.JobStatus{StartTime: &metav1.Time{Time: now}, Succeeded: 1, Conditions: []batchv1.JobCondition{
		{Type: batchv1.JobSuccessCriteriaMet, Status: "True", Reason: "CompletionsReached"}, {Type: batchv1.JobComplete, Status: "True", Reason: "CompletionsReached"},
	}}
	cronJobStatus := ostinatov1.CronJobStatus{LastOutcome: string(ledger.Started)}
	for range ledger.MaxRecentRuns {
		cronJobStatus.RecentRuns = append(cronJobStatus.RecentRuns, ostinatov1.RecentRun{ScheduledTime: metav1.Time{Time: now}, Outcome: string(ledger.Started), Result: "Complete"})
	}
	encode := func(value any) []byte {
		data, err := json.Marshal(value)
		if err != nil {
			b.Fatal(err)
		}
		return data
	}
	decoded := map[*[]byte]func() any{}
	add := func(value any, empty func() any) {
		data := encode(value)
		decoded[&data] = empty
	}
	add(protocol.JobInput{Job: reference, Spec: job.Spec{Parallelism: 1}}, func() any { return new(protocol.JobInput) })
	add(protocol.WriteStatusRequest{CronJob: reference, Status: &cronJobStatus}, func() any { return new(protocol.WriteStatusRequest) })
	add(protocol.WriteStatusResult{}, func() any { return new(protocol.WriteStatusResult) })
	for range 3 {
		add(protocol.JobRequest{Job: reference, Status: &status}, func() any { return new(protocol.JobRequest) })
		add(protocol.JobResult{}, func() any { return new(protocol.JobResult) })
		add(protocol.PodFacts{JobUID: reference.UID, Facts: []job.PodFact{{Name: "hello-1-abcde", UID: "x", Phase: "Running"}}}, func() any { return new(protocol.PodFacts) })
	}
	a := New(Options{Metrics: NewMetrics(prometheus.NewRegistry()), Clock: clock.RealClock{}})
	gate := newEventGate(prometheus.NewRegistry())
	events := []event.Event{event.Normal(event.SuccessfulCreate, "Created job hello-1")}
	start := schedule.Start{Name: names.ScheduledJob("hello", now.Truncate(time.Minute)), Scheduled: now.Truncate(time.Minute)}
	kind, id := aJob(reference).workflow("")
	info := activity.Info{WorkflowType: &workflow.Type{Name: kind}, WorkflowExecution: workflow.Execution{ID: id}}
	fail := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		for data, empty := range decoded {
			fail(json.Unmarshal(*data, empty()))
		}
		for range 5 {
			fail(a.serves(info, aJob(reference)))
			fail(event.Validate(events))
			gate.pass("shop")
			a.countRefused(b.Context(), protocol.CarryOutActivity, protocol.JobResult{}, nil)
		}
		for range 3 {
			fail(job.ValidateStatus(status))
			fail(job.ValidateFacts([]job.PodFact{{Name: "hello-1-abcde", UID: "x", Phase: "Running"}}))
		}
		for range 2 {
			fail(schedule.ValidateStatus(cronJobStatus, "shop"))
		}
		if schedule.Prescribed(cronJob, start, now) != "" {
			b.Fatal("the start is not prescribed")
		}
		a.herds.Join(start.Scheduled, "shop").Leave()
	}
}
