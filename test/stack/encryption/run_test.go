package encryption

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/codecserver"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/payloadcodec"
	"ostinato.dev/ostinato/internal/protocol"
)

// lastWords is what the failing Pod says.
const lastWords = "the password is swordfish"

// A Job fails, and its history keeps what its Pod said for those with a key alone.
func TestAnEncryptedRun(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	created := stack.CreateJob(t, namespace, "fails",
		harness.JobSpec(harness.ExitCode(3), harness.BackoffLimit(1), harness.PodAnnotation("ostinato.dev/test-exit-message", lastWords)))
	workflow := harness.JobWorkflow(namespace, "fails")
	harness.Eventually(t, harness.PodBackoff+harness.Prompt, func(ctx context.Context) error {
		status, err := stack.WorkflowStatus(ctx, workflow)
		if err == nil && status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
			err = errors.New("the workflow runs")
		}
		return err
	})
	if err := stack.JobHas(t.Context(), namespace, "fails", batchv1.JobFailed); err != nil {
		t.Fatal(err)
	}
	recorded := historyOf(t, workflow)
	for _, payload := range payloadsOf(t, recorded) {
		if problem := plain(payload); problem != "" {
			t.Error(problem)
		}
	}
	pods, err := stack.PodsOf(t.Context(), namespace, "fails")
	if err != nil || len(pods) == 0 {
		t.Fatalf("Pods: %v, %v", pods, err)
	}
	text := recorded.String()
	for what, word := range map[string]string{
		"the Pod's last words": lastWords, "the Job's UID, from the input": string(created.UID), "a Pod's name": pods[0].Name, "the Pod's log": "simulated by kwok",
	} {
		if strings.Contains(text, word) {
			t.Errorf("the history holds %s: %q", what, word)
		}
	}

	// Who has a key reads it all.
	var description protocol.JobDescription
	answer, err := reader.Temporal.QueryWorkflow(t.Context(), workflow, "", protocol.DescribeQuery)
	if err == nil {
		err = answer.Get(&description)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(description.Attempts) != 2 || description.Attempts[0].Message != lastWords || description.Attempts[0].Log == "" {
		t.Errorf("attempts %+v", description.Attempts)
	}
	if answer, err = stack.Temporal.QueryWorkflow(t.Context(), workflow, "", protocol.DescribeQuery); err == nil {
		err = answer.Get(&description)
	}
	if err == nil {
		t.Error("the answer to a query is readable without a key")
	}
	// So does who asks the codec server.
	server := httptest.NewServer(codecserver.NewHandler(codec, nil))
	defer server.Close()
	input := recorded.Events[0].GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()
	decoded, err := converter.NewRemotePayloadCodec(converter.RemotePayloadCodecOptions{Endpoint: server.URL}).Decode(input)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(decoded[0].GetData()), string(created.UID)) {
		t.Errorf("the input is %s", decoded[0].GetData())
	}
}

// People steer by signals that they type, which nobody encrypts for them.
func TestPlainSignalsSteerEncryptedWorkflows(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	cronJob := harness.NewCronJob(namespace, "hello", harness.Yearly, harness.JobSpec())
	zone := "Pacific/Chatham"
	cronJob.Spec.TimeZone = &zone
	stack.AddCronJob(t, cronJob)
	workflow := harness.CronJobWorkflow(namespace, "hello")

	run := stack.Trigger(t, namespace, "hello")
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, run, batchv1.JobComplete) })
	stack.Signal(t, workflow, protocol.SuspendSignal, map[string]string{"note": "maintenance"})
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return suspended(ctx, namespace, true) })
	stack.Signal(t, workflow, protocol.ResumeSignal, nil)
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return suspended(ctx, namespace, false) })

	recorded := historyOf(t, workflow)
	typed := 0
	for _, event := range recorded.Events {
		signal := event.GetWorkflowExecutionSignaledEventAttributes()
		switch signal.GetSignalName() {
		case protocol.SuspendSignal, protocol.ResumeSignal, protocol.TriggerSignal:
			typed++
			continue
		}
		for _, payload := range payloadsOf(t, &history.History{Events: []*history.HistoryEvent{event}}) {
			if problem := plain(payload); problem != "" {
				t.Errorf("%s: %s", event.GetEventType(), problem)
			}
		}
	}
	if typed != 3 {
		t.Errorf("%d signals of people are in the history", typed)
	}
	if strings.Contains(recorded.String(), zone) {
		t.Error("the history holds the time zone")
	}
	description, err := reader.DescribeCronJob(t.Context(), namespace, "hello")
	if err != nil || description.Spec.TimeZone == nil || *description.Spec.TimeZone != zone {
		t.Errorf("description %+v, %v", description.Spec, err)
	}
}

func suspended(ctx context.Context, namespace string, want bool) error {
	cronJob, err := stack.CronJob(ctx, namespace, "hello")
	if err != nil {
		return err
	}
	if is := cronJob.Spec.Suspend != nil && *cronJob.Spec.Suspend; is != want {
		return fmt.Errorf("suspended: %v", is)
	}
	if note := cronJob.Annotations[names.SuspendNoteAnnotation]; want && note != "maintenance" {
		return fmt.Errorf("the note is %q", note)
	}
	return nil
}

// forged claims to be encrypted, with a key of this name.
func forged(key string) converter.RawValue {
	return converter.NewRawValue(&commonpb.Payload{
		Metadata: map[string][]byte{
			converter.MetadataEncoding: []byte(payloadcodec.Encoding), payloadcodec.MetadataVersion: []byte(payloadcodec.Version),
			payloadcodec.MetadataKeyID: []byte(key),
		},
		Data: []byte("not made with any key, and long enough for one"),
	})
}

// A payload that claims to be encrypted and can't be read stops nobody.
func TestAForgedPayloadIsNoSignal(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	stack.AddCronJob(t, harness.NewCronJob(namespace, "hello", harness.Yearly, harness.JobSpec()))
	workflow := harness.CronJobWorkflow(namespace, "hello")
	for _, id := range []string{newKey, "unknown"} {
		for _, signal := range []string{protocol.SuspendSignal, protocol.CronJobSpecSignal, protocol.JobSeenSignal} {
			stack.Signal(t, workflow, signal, forged(id))
		}
	}
	run := stack.Trigger(t, namespace, "hello")
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, run, batchv1.JobComplete) })
}

// A workflow whose input can't be read ends, and says why to those with a key.
func TestAForgedInputFailsItsWorkflow(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]client.StartWorkflowOptions{
		protocol.JobWorkflow:     {ID: harness.JobWorkflow("nowhere", "forged"), TaskQueue: names.Cluster("").JobTaskQueue()},
		protocol.CronJobWorkflow: {ID: harness.CronJobWorkflow("nowhere", "forged"), TaskQueue: names.Cluster("").ControlTaskQueue()},
	} {
		run, err := stack.Temporal.ExecuteWorkflow(t.Context(), start, name, forged("unknown"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), harness.Prompt)
		defer cancel()
		err = reader.Temporal.GetWorkflow(ctx, run.GetID(), run.GetRunID()).Get(ctx, nil)
		if err == nil || !strings.Contains(err.Error(), `its key "unknown" is not among the payload keys (2025, 2026)`) {
			t.Errorf("%s ended with %v", name, err)
		}
		if err := run.Get(ctx, nil); err == nil || strings.Contains(err.Error(), "2025") {
			t.Errorf("without a key %s ended with %v", name, err)
		}
	}
}

func historyOf(t *testing.T, workflow string) *history.History {
	t.Helper()
	recorded, err := stack.History(t.Context(), workflow)
	if err != nil {
		t.Fatal(err)
	}
	if len(recorded.Events) == 0 {
		t.Fatalf("%s has no history", workflow)
	}
	return recorded
}

// payloadsOf returns every payload of a history; search attributes, which Temporal
// has to read, are none.
func payloadsOf(t *testing.T, recorded *history.History) []*commonpb.Payload {
	t.Helper()
	var payloads []*commonpb.Payload
	err := proxy.VisitPayloads(t.Context(), recorded, proxy.VisitPayloadsOptions{
		SkipSearchAttributes: true,
		Visitor: func(_ *proxy.VisitPayloadsContext, found []*commonpb.Payload) ([]*commonpb.Payload, error) {
			payloads = append(payloads, found...)
			return found, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return payloads
}

// plain says what is readable of a payload; empty when it is encrypted with the newer key.
func plain(payload *commonpb.Payload) string {
	if string(payload.GetMetadata()[converter.MetadataEncoding]) == payloadcodec.Encoding && string(payload.GetMetadata()[payloadcodec.MetadataKeyID]) == newKey {
		return ""
	}
	return fmt.Sprintf("a payload is readable: %.200v", payload)
}
