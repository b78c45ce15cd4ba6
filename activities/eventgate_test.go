package activities_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/protocol"
)

// TestEventsAndStatusesThatNoPlanAsksForAreRefused: before anything is written.
func TestEventsAndStatusesThatNoPlanAsksForAreRefused(t *testing.T) {
	long := strings.Repeat("x", 1_300_000)
	job, cronJob := text(t, jobRef), text(t, cronJobRef)
	for name, test := range map[string]struct{ activity, request string }{
		"an Event of a Job":             {protocol.CarryOutActivity, `{"job":` + job + `,"events":[{"type":"Warning","reason":"Evil","message":"x"}]}`},
		"an Event of a CronJob":         {protocol.WriteStatusActivity, `{"cronJob":` + cronJob + `,"events":[{"type":"Evil","reason":"SawCompletedJob","message":"x"}]}`},
		"a condition of another":        {protocol.CarryOutActivity, `{"job":` + job + `,"status":{"conditions":[{"type":"evil.example/x","status":"True"}]}}`},
		"a long condition":              {protocol.CarryOutActivity, `{"job":` + job + `,"status":{"conditions":[{"type":"Failed","status":"True","message":"` + long + `"}]}}`},
		"an outcome that there is not":  {protocol.WriteStatusActivity, `{"cronJob":` + cronJob + `,"status":{"lastOutcome":"` + long + `"}}`},
		"active runs that are no Jobs":  {protocol.WriteStatusActivity, `{"cronJob":` + cronJob + `,"status":{"active":[{"name":"` + long + `"}]}}`},
		"recent runs beyond all bounds": {protocol.WriteStatusActivity, `{"cronJob":` + cronJob + `,"status":{"recentRuns":[{"outcome":"Started","scheduledTime":"2026-01-01T00:00:00Z","message":"` + long + `"}]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(helloJob()), nil)
			var err error
			if test.activity == protocol.CarryOutActivity {
				var request protocol.JobRequest
				if err := json.Unmarshal([]byte(test.request), &request); err != nil {
					t.Fatal(err)
				}
				_, err = run[protocol.JobResult](s, test.activity, request)
			} else {
				var request protocol.WriteStatusRequest
				if err := json.Unmarshal([]byte(test.request), &request); err != nil {
					t.Fatal(err)
				}
				_, err = run[protocol.WriteStatusResult](s, test.activity, request)
			}
			wantInvalid(t, err)
			if len(s.writes()) != 0 || len(s.recorded()) != 0 {
				t.Errorf("writes %v, Events %v", s.writes(), s.recorded())
			}
		})
	}
}

// TestAHerdOfEventsIsBounded: by message, by namespace and in sum.
func TestAHerdOfEventsIsBounded(t *testing.T) {
	registry := prometheus.NewRegistry()
	// The API server takes no Event before all are sent, so that no slow machine keeps up with them.
	client, sent := fake.NewClientset(), make(chan struct{})
	client.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		<-sent
		return false, nil, nil
	})
	recorders, stop := activities.StartEvents(t.Context(), client, registry)
	s := newStage(t, objects(helloJob()), nil, func(options *activities.Options) { options.Events = recorders })
	var events []event.Event
	for range event.MaxPerRequest {
		events = append(events, event.Warning("InvalidAnnotation", strings.Repeat("é", 1000)))
	}
	for range 20 {
		must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Events: events})
	}
	close(sent)
	stop()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if dropped := families[0].GetMetric()[0].GetCounter().GetValue(); families[0].GetName() != "ostinato_events_dropped_total" || dropped < 50 {
		t.Errorf("%s is %v", families[0].GetName(), dropped)
	}
	found, err := client.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range found.Items {
		if len(one.Message) > 1024 {
			t.Errorf("an Event %s of %d bytes", one.Reason, len(one.Message))
		}
	}
	if len(found.Items) == 0 {
		t.Error("no Event")
	}
}

func text(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
