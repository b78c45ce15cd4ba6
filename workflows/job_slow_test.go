package workflows_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
)

// A webhook that hangs keeps no workflow task, and so no other Job, waiting: after one that took too long the Job's creates
// begin outside, for a minute.
func TestCreatesOfASlowAPIServerBeginOutsideTheWorkflowTask(t *testing.T) {
	kube := newJobKube(t)
	hangs := true
	var local []bool
	kube.attempt = func(isLocal bool, request protocol.JobRequest) error {
		if len(request.Creates) == 0 {
			return nil
		}
		if local = append(local, isLocal); hangs && isLocal {
			return context.DeadlineExceeded
		}
		return nil
	}
	kube.after(20*time.Second, func() { kube.end(1, corev1.PodSucceeded) })
	kube.after(40*time.Second, func() { hangs = false })
	kube.after(2*time.Minute, func() { kube.end(2, corev1.PodSucceeded) })
	kube.after(3*time.Minute, func() { kube.end(3, corev1.PodSucceeded) })
	kube.mustEnd(jobSpec(1, 3), job.Complete)
	expect(t, "creates that were local", local, []bool{true, false, false, true})
}
