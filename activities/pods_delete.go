package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
)

// findings gathers what deletes and releases of Pods, made side by side, came to that
// the next plan has to know.
type findings struct {
	mutex  sync.Mutex
	result *protocol.JobResult
}

func (f *findings) vanished(uid string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.result.Vanished = append(f.result.Vanished, uid)
}

func (f *findings) found(fact job.PodFact) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.result.Found = append(f.result.Found, fact)
}

// foreignFact says that a Pod is not the Job's. It tells nothing else of the Pod:
// whoever asked may not be allowed to read it.
func foreignFact(pod *corev1.Pod) job.PodFact {
	fact := k8s.PodFact(pod)
	return job.PodFact{Name: fact.Name, UID: fact.UID, Version: fact.Version, Disowned: true}
}

// failed takes an error of what was being done to one Pod. What concerns that Pod only
// is data; else the error comes back, as an outage.
func (f *findings) failed(failure job.PodFailure, err error, doing string, arguments ...any) error {
	if !concernsOne(err) {
		return outage(err, doing, arguments...)
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	failure.Message = k8s.Bounded(err.Error())
	f.result.Failures = append(f.result.Failures, failure)
	return nil
}

// deletePod deletes one Pod of the Job, uncounted if the target says so. A Pod that is not the
// Job's is left alone, and so is one that has ended and would be removed uncounted: it is to be
// counted. With running, any Pod that has ended is left alone.
//
// The Pod is read first, from the watch cache, since a delete can't say who must own the Pod.
func (a *Activities) deletePod(ctx context.Context, owner *batchv1.Job, target job.Delete, running bool, events *announcer, out *findings) error {
	uid := types.UID(target.UID)
	pod, err := k8s.GetPod(ctx, a.Kubernetes, owner.Namespace, target.Name, uid)
	for attempt := 1; ; attempt++ {
		switch {
		case errors.Is(err, k8s.ErrGone):
			out.vanished(target.UID)
			return nil
		case err != nil:
			return out.failed(job.PodFailure{UID: target.UID}, err, "get Pod %s/%s", owner.Namespace, target.Name)
		case !a.owns(owner, pod):
			out.found(foreignFact(pod))
			return nil
		case running && claim.Ended(pod), target.Release && claim.Ended(pod) && claim.Tracked(pod):
			out.found(k8s.PodFact(pod))
			return nil
		case target.Release && claim.Tracked(pod):
			err = k8s.ReleaseReadPod(ctx, a.Kubernetes, pod, true)
			if apierrors.IsConflict(err) && attempt < releaseAttempts {
				pod, err = k8s.GetPodLive(ctx, a.Kubernetes, owner.Namespace, target.Name, uid)
				continue
			}
			if err != nil && !apierrors.IsNotFound(err) {
				return a.deleteFailed(owner, job.PodFailure{UID: target.UID}, target.Name, err, events, out)
			}
		}
		break
	}
	if pod.DeletionTimestamp != nil {
		// An attempt before this one has deleted it, or somebody else has.
		return nil
	}
	deleted, err := k8s.DeletePod(ctx, a.Kubernetes, owner.Namespace, target.Name, uid)
	if err != nil {
		return a.deleteFailed(owner, job.PodFailure{UID: target.UID, Released: target.Release}, target.Name, err, events, out)
	}
	if !deleted {
		out.vanished(target.UID)
		return nil
	}
	events.onJob(jobReference(owner), event.Normal(event.SuccessfulDelete, "Deleted pod: "+target.Name))
	return nil
}

func (a *Activities) deleteFailed(owner *batchv1.Job, failure job.PodFailure, name string, err error, events *announcer, out *findings) error {
	if answered(err) {
		events.onJob(jobReference(owner), event.Warning(event.FailedDelete, fmt.Sprintf("Error deleting: %v", err)))
	}
	return out.failed(failure, err, "delete Pod %s/%s", owner.Namespace, name)
}

// each calls do for every item, some at a time, and returns the first error
// after all have ended.
func each[Item any](items []Item, do func(Item) error) error {
	var group errgroup.Group
	group.SetLimit(parallelRequests)
	for _, item := range items {
		group.Go(func() error { return do(item) })
	}
	return group.Wait()
}
