package access

import (
	"context"
	"fmt"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/steering"
	"ostinato.dev/ostinato/test/stack/access/door"
)

// hostileArguments are what an editor may send with a signal for people: the door looks at its name alone.
var hostileArguments = map[string]*commonpb.Payload{
	"nothing":                {},
	"half of JSON":           encoded("json/plain", `{"note":`),
	"not JSON":               encoded("json/plain", "not json"),
	"a list":                 encoded("json/plain", `[1,{"note":"x"},null]`),
	"other types":            encoded("json/plain", `{"note":{"a":[1]},"by":7,"from":[],"to":{},"at":"x","job":1}`),
	"nested deeply":          encoded("json/plain", strings.Repeat("[", 9000)+strings.Repeat("]", 9000)),
	"a long text":            encoded("json/plain", `"`+strings.Repeat("x", 1<<20)+`"`),
	"bytes":                  encoded("binary/plain", "\xff\x00\x01"),
	"bytes called encrypted": encoded("binary/encrypted", "\x89\xfe"),
	"another sender's name":  encoded("json/plain", `{"by":"system:masters","note":"`+strings.Repeat("y", 100_000)+`"}`),
}

func encoded(encoding, data string) *commonpb.Payload {
	return &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte(encoding)}, Data: []byte(data)}
}

// What an editor sends to objects that the API server lets them change may suspend, resume and run these, and does no more.
func TestWhatAnEditorSendsLeavesTheCronJobWhole(t *testing.T) {
	workflow := add(t, "whole")
	before, err := stack.CronJob(t.Context(), door.Shop, "whole")
	if err != nil {
		t.Fatal(err)
	}
	held := stack.CreateJob(t, door.Shop, "held", harness.JobSpec(harness.RunUntilEnded()))
	running := harness.JobWorkflow(door.Shop, held.Name)
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return stack.PodsAre(ctx, door.Shop, held.Name, corev1.PodRunning, 1) })
	run := door.RunOf(t, stack.Temporal, workflow)
	editor := people.As(t, "editor")
	send := func(to, signal, what string, argument *commonpb.Payload) {
		_, err := editor.WorkflowService().SignalWorkflowExecution(t.Context(), &workflowservice.SignalWorkflowExecutionRequest{
			Namespace: client.DefaultNamespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: to},
			SignalName: signal, Input: &commonpb.Payloads{Payloads: []*commonpb.Payload{argument}},
		})
		if err != nil {
			t.Errorf("%s with %s to %s: %v", signal, what, to, err)
		}
	}
	const last = "that was all"
	for what, argument := range hostileArguments {
		for _, signal := range []string{protocol.SuspendSignal, protocol.TriggerSignal, steering.Backfill, protocol.ResumeSignal} {
			send(workflow, signal, what, argument)
		}
		send(running, protocol.SuspendSignal, what, argument)
		send(running, protocol.ResumeSignal, what, argument)
	}
	for _, to := range []string{workflow, running} {
		send(to, protocol.ResumeSignal, last, encoded("json/plain", `{"note":"`+last+`"}`))
	}
	harness.Eventually(t, harness.Recovery, func(ctx context.Context) error {
		found, err := stack.CronJob(ctx, door.Shop, "whole")
		if err != nil {
			return err
		}
		if found.Annotations[names.SuspendNoteAnnotation] != last || *found.Spec.Suspend {
			return fmt.Errorf("the last resume is not taken yet: suspend %v", *found.Spec.Suspend)
		}
		if found.Spec.Schedule != before.Spec.Schedule || found.UID != before.UID {
			return fmt.Errorf("it is another: %+v", found.Spec)
		}
		return stack.PodsAre(ctx, door.Shop, held.Name, corev1.PodRunning, 1)
	})
	if after := door.RunOf(t, stack.Temporal, workflow); after != run {
		t.Logf("its workflow was %s, and is %s", run, after)
	}
	for _, kind := range []metav1.Object{mustCronJob(t, "whole"), mustJob(t, held.Name)} {
		for key, value := range kind.GetAnnotations() {
			if len(value) > 1024 && strings.HasPrefix(key, "ostinato.dev/") {
				t.Errorf("annotation %s of %s has %d bytes", key, kind.GetName(), len(value))
			}
		}
	}
	name := stack.Trigger(t, door.Shop, "whole")
	harness.Eventually(t, harness.Recovery, func(ctx context.Context) error { return stack.JobHas(ctx, door.Shop, name, batchv1.JobComplete) })
}

func mustCronJob(t *testing.T, name string) metav1.Object {
	t.Helper()
	found, err := stack.CronJob(t.Context(), door.Shop, name)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func mustJob(t *testing.T, name string) metav1.Object {
	t.Helper()
	found, err := stack.Kubernetes.BatchV1().Jobs(door.Shop).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
