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

func TestIndexedJobRunsEveryIndexOnce(t *testing.T) {
	kube := newJobKube(t)
	spec := jobSpec(2, 3)
	spec.CompletionMode = batchv1.IndexedCompletion
	kube.after(time.Minute, func() { kube.end(2, corev1.PodSucceeded) })
	kube.after(2*time.Minute, func() { kube.end(1, corev1.PodSucceeded) })
	kube.after(3*time.Minute, func() { kube.end(3, corev1.PodSucceeded) })
	result := kube.mustEnd(spec, job.Complete)
	expect(t, "succeeded", result.Succeeded, 3)
	expect(t, "completedIndexes", kube.lastStatus().CompletedIndexes, "0-2")
	expect(t, "index of the third Pod", *kube.pods[2].Index, 2)
}

// What is left of a failed attempt outlives its Pod: in the result, in the answer
// to the query, in the current details.
func TestEvidenceOfFailedAttempts(t *testing.T) {
	kube := newJobKube(t)
	var description protocol.JobDescription
	kube.after(time.Minute, func() {
		kube.pods[0].Node, kube.pods[0].Container, kube.pods[0].ExitCode = "node-1", "main", 3
		kube.end(1, corev1.PodFailed)
	})
	kube.after(2*time.Minute, func() {
		value, err := kube.environment.QueryWorkflow(protocol.DescribeQuery)
		if err == nil {
			err = value.Get(&description)
		}
		if err != nil {
			t.Errorf("query: %v", err)
		}
		kube.end(2, corev1.PodSucceeded)
	})
	result := kube.mustEnd(jobSpec(1, 1), job.Complete)
	expect(t, "attempts", len(result.Attempts), 1)
	attempt := result.Attempts[0]
	expect(t, "attempt", []any{attempt.Node, attempt.Container, attempt.ExitCode, attempt.Log}, []any{"node-1", "main", int32(3), "last words of pod-1"})
	expect(t, "described", description.Attempts, result.Attempts)
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
