package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// ReleaseOrphans removes the tracking finalizer of every Pod of a Job that is gone or being deleted: those that the Job
// controls, and those with its label that garbage collection has cut loose. It releases none of a Job that lives or is
// another controller's. A Pod that can't be released holds up no other.
//
// A request for evidence has what is left of these Pods read first.
//
// The Job's selector may no longer be known. So Pods are found by the label with the Job's UID, which the API server
// puts into the template, and, for manual selectors, by watch bucket.
func (a *Activities) ReleaseOrphans(ctx context.Context, request protocol.ReleaseOrphansRequest) (protocol.ReleaseOrphansResult, error) {
	found, err := k8s.GetJob(ctx, a.Kubernetes, request.Job.Namespace, request.Job.Name, types.UID(request.Job.UID))
	switch {
	case errors.Is(err, k8s.ErrGone):
		found = nil
	case err != nil:
		return protocol.ReleaseOrphansResult{}, outage(err, "get Job %s/%s", request.Job.Namespace, request.Job.Name)
	case found.DeletionTimestamp == nil:
		return protocol.ReleaseOrphansResult{}, nil
	}
	owner := claim.Owner{
		Namespace: request.Job.Namespace, Name: request.Job.Name, UID: types.UID(request.Job.UID), Job: found,
		TakeOver: a.TakeOverJobs, Unattended: true,
	}
	var result protocol.ReleaseOrphansResult
	if request.Evidence {
		result.Ended, result.Logs = a.lastWords(ctx, owner)
	}
	var mutex sync.Mutex
	var errs []error
	released, failed := 0, sets.New[types.UID]()
	release := func(pod *corev1.Pod) func() error {
		if claim.Decide(pod, owner) != claim.Release {
			return nil
		}
		return func() error {
			done, err := a.releaseUncounted(ctx, pod)
			mutex.Lock()
			defer mutex.Unlock()
			switch {
			case err == nil:
				failed.Delete(pod.UID)
				// The watch's label alone is not worth counting.
				if done && claim.Tracked(pod) {
					released++
				}
			case !failed.Has(pod.UID):
				failed.Insert(pod.UID)
				if len(errs) < 3 { // The others are counted only.
					errs = append(errs, fmt.Errorf("release Pod %s: %w", pod.Name, err))
				}
			}
			return ctx.Err()
		}
	}
	for _, selector := range []labels.Selector{
		labelled(request.Job.UID), labels.SelectorFromSet(labels.Set{names.WatchBucketLabel: names.WatchBucket(request.Job.UID)}),
	} {
		if err := a.eachPod(ctx, request.Job.Namespace, selector, release); err != nil {
			return protocol.ReleaseOrphansResult{}, err
		}
	}
	if len(failed) > 0 {
		err := fmt.Errorf("%d of %d: %w", len(failed), len(failed)+released, errors.Join(errs...))
		return protocol.ReleaseOrphansResult{}, outage(err, "release the Pods of Job %s/%s", request.Job.Namespace, request.Job.Name)
	}
	result.Released = released
	return result, nil
}

// labelled selects Pods by the label with the UID of their Job.
func labelled(uid string) labels.Selector {
	return labels.SelectorFromSet(labels.Set{batchv1.ControllerUidLabel: uid})
}
