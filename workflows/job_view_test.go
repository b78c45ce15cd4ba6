package workflows_test

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
)

func TestIndexedJobWaitsForItsDeletion(t *testing.T) {
	kube := newJobKube(t)
	spec := jobSpec(1, 1)
	spec.CompletionMode = batchv1.IndexedCompletion
	kube.after(time.Minute, func() { kube.environment.SignalWorkflow(protocol.DeletedSignal, protocol.Deleted{UID: hello.UID}) })
	kube.mustEnd(spec, job.Deleted)
	expect(t, "Events", kube.requests[0].Events[0].Reason, "UnknownCompletionMode")
	expect(t, "Pods", len(kube.pods), 0)
}

func TestDescribeTellsWhatTheJobWaitsFor(t *testing.T) {
	kube := newJobKube(t)
	var description protocol.JobDescription
	kube.after(time.Minute, func() {
		kube.end(1, corev1.PodFailed)
	})
	kube.after(time.Minute+time.Second, func() {
		var value converter.EncodedValue
		value, err := kube.environment.QueryWorkflow(protocol.DescribeQuery)
		if err == nil {
			err = value.Get(&description)
		}
		if err != nil {
			t.Errorf("query: %v", err)
		}
	})
	kube.after(2*time.Minute, func() { kube.end(2, corev1.PodSucceeded) })
	kube.mustEnd(jobSpec(1, 1), job.Complete)
	expect(t, "failed", description.Status.Failed, 1)
	expect(t, "waiting", strings.HasPrefix(description.Waiting, "back-off after 1 failures: next Pod at "), true)
}

func TestCancelledJobWorkflowEnds(t *testing.T) {
	kube := newJobKube(t)
	kube.after(time.Minute, kube.environment.CancelWorkflow)
	_, err := kube.run(jobSpec(1, 1))
	if !temporal.IsCanceledError(err) {
		t.Errorf("the workflow ended with %v, want a cancellation", err)
	}
}
