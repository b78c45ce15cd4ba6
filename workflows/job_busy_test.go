package workflows_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
)

// busy makes another Pod's fact come while each list of the Pods is read, as on a Job whose Pods end all the time.
func (k *jobKube) busy() {
	k.listing = func() {
		pod := k.pods[len(k.pods)-1]
		pod.Version = int64(len(k.calls)) + 100
		k.signalFacts(pod)
	}
}

// Of a Job that is never quiet the Pods are listed once, and what follows from that is done.
func TestABusyJobIsSuspendedAndScaledDown(t *testing.T) {
	for name, test := range map[string]struct {
		edit    func(*job.Spec)
		removed int
		lists   int
	}{
		"suspended":   {func(spec *job.Spec) { spec.Suspend = true }, 5, 1},
		"scaled down": {func(spec *job.Spec) { spec.Parallelism = 2 }, 3, 1},
	} {
		t.Run(name, func(t *testing.T) {
			kube := newJobKube(t)
			kube.busy()
			kube.after(time.Minute, func() {
				spec := jobSpec(5, 9)
				spec.Generation = 2
				test.edit(&spec)
				kube.signalSpec(hello, spec)
			})
			kube.after(time.Minute+10*time.Second, func() {
				removed, lists := 0, 0
				for _, pod := range kube.pods {
					if pod.Removed {
						removed++
					}
				}
				for _, request := range kube.requests {
					removed += len(request.Deletes)
				}
				for _, call := range kube.calls {
					if call == protocol.ListPodsActivity || call == protocol.TerminatePodsActivity+" Suspension" {
						lists++
					}
				}
				expect(t, "removed", removed, test.removed)
				expect(t, fmt.Sprint("lists in ", kube.calls), lists, test.lists)
				kube.remove()
			})
			kube.mustEnd(jobSpec(5, 9), job.Deleted)
		})
	}
}

// The edit comes while Pods are being deleted for a verdict: it is kept.
func TestAnEditDoesNotTakeAVerdictBack(t *testing.T) {
	kube := newJobKube(t)
	spec := jobSpec(3, 3)
	spec.BackoffLimit = 0
	edited := spec
	edited.Generation, edited.BackoffLimit = 2, 6
	kube.terminating = func() {
		kube.terminating = nil
		kube.pods[1].Deleting = true // of three, when the edit comes
		kube.signalSpec(hello, edited)
	}
	kube.after(time.Minute, func() { kube.end(1, corev1.PodFailed) })
	kube.after(2*time.Minute, func() {
		for number := range kube.pods {
			expect(t, "the Job's Pods are deleted", kube.pods[number].Deleting || number == 0, true)
			kube.end(number+1, corev1.PodFailed)
		}
	})
	result := kube.mustEnd(spec, job.Failed)
	expect(t, "reason", result.Reason, "BackoffLimitExceeded")
	expect(t, "failed", result.Failed, 3)
}

// The Pods of a Job that had the name before are released when this one has nothing else to do.
func TestPodsOfAPredecessorHoldUpNoPod(t *testing.T) {
	kube := newJobKube(t)
	kube.after(time.Minute, func() {
		successor := kube.pods[0]
		successor.UID = "predecessors"
		// A release gives way to a signal, so the release's is the last.
		kube.end(1, corev1.PodSucceeded)
		kube.environment.SignalWorkflow(protocol.PodsSignal, protocol.PodFacts{JobUID: "predecessor", Facts: []job.PodFact{successor}})
	})
	kube.after(2*time.Minute, func() { kube.end(2, corev1.PodSucceeded) })
	kube.mustEnd(jobSpec(1, 2), job.Complete)
	expect(t, "calls", kube.calls, []string{
		protocol.CarryOutActivity, protocol.CarryOutActivity, protocol.ReleaseOrphansActivity, protocol.CarryOutActivity,
	})
	expect(t, "orphans", kube.orphans, []string{"predecessor"})
}
