package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

// maxUnanswered is how many Pods of a request may be without an answer before no other is tried: one request in a hundred
// that has none holds up few others, and an API server that is away is not asked for each Pod.
const maxUnanswered = 10

// eachTarget acts on Pods of a Job, some at a time, and reports what the next plan has to know of them. The first error is that
// of a Pod without an answer, which is in the report too; answered says that others have one.
func eachTarget[Target any](
	ctx context.Context, targets []Target, act func(context.Context, Target) (job.Report, error),
) (report job.Report, answered bool, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var open atomic.Int32
	// The first ones tell whether the request names what is there, before many requests are under way (sought).
	first := min(len(targets), maxStrays)
	for _, some := range [][]Target{targets[:first], targets[first:]} {
		findings, failure := gather(some, func(target Target) (job.Report, error) {
			found, err := act(ctx, target)
			if err != nil && open.Add(1) == maxUnanswered {
				stop()
			}
			return found, err
		})
		for _, found := range findings {
			report = report.And(found)
		}
		err = cmp.Or(err, failure)
	}
	return report, int(open.Load()) < len(targets), err
}

func vanished(uid string) job.Report { return job.Report{Vanished: []string{uid}} }

func unexpected(fact job.PodFact) job.Report { return job.Report{Unexpected: []job.PodFact{fact}} }

// foreign says that a Pod is not the Job's. It says nothing else about the Pod: the sender of the request may have no
// right to read it.
func foreign(pod *corev1.Pod) job.Report {
	fact := k8s.PodFact(pod)
	return unexpected(job.PodFact{Name: fact.Name, UID: fact.UID, Version: fact.Version, Disowned: true})
}

// failed reports an error of what was being done to one Pod. What concerns that Pod only is data; else the error comes back
// too, as an outage.
func failed(failure job.PodFailure, err error, doing string, arguments ...any) (job.Report, error) {
	if !concernsOne(err) {
		return unanswered(failure, outage(err, doing, arguments...))
	}
	failure.Message = clip.Message(err.Error())
	return job.Report{Failures: []job.PodFailure{failure}}, nil
}

// unanswered reports that what was being done to one Pod has no answer.
func unanswered(failure job.PodFailure, err error) (job.Report, error) {
	failure.Message, failure.Unclear = clip.Message(err.Error()), true
	return job.Report{Failures: []job.PodFailure{failure}}, err
}

// deletePod deletes one Pod of the Job, uncounted if the target says so. A Pod that is not the Job's is left alone, and so is
// one that has ended and would be removed uncounted: it is to be counted. With running, any Pod that has ended is left alone.
//
// Where no list has just shown it, the Pod is read first, from the watch cache: a delete can't say who must own the Pod.
func (a *Activities) deletePod(ctx context.Context, owner *batchv1.Job, target job.Delete, running bool, events *announcer) (job.Report, error) {
	uid := types.UID(target.UID)
	var pod *corev1.Pod
	var err error
	if target.Version != 0 {
		pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: target.Name, UID: uid,
			ResourceVersion: strconv.FormatInt(target.Version, 10), Finalizers: []string{names.TrackingFinalizer}}}
	} else {
		pod, err = k8s.GetPod(ctx, a.Kubernetes, owner.Namespace, target.Name, uid)
	}
	for attempt := 1; ; attempt++ {
		switch {
		case errors.Is(err, k8s.ErrGone):
			return vanished(target.UID), nil
		case err != nil:
			return failed(job.PodFailure{UID: target.UID}, err, "get Pod %s/%s", owner.Namespace, target.Name)
		case target.Version == 0 && !a.owns(owner, pod):
			return foreign(pod), nil
		case running && claim.Ended(pod), target.Release && claim.Ended(pod) && claim.Tracked(pod):
			return unexpected(k8s.PodFact(pod)), nil
		case target.Release && claim.Tracked(pod):
			_, err = a.releaseReadPod(ctx, pod, true)
			if apierrors.IsConflict(err) && attempt < releaseAttempts {
				target.Version = 0
				pod, err = k8s.GetPodLive(ctx, a.Kubernetes, owner.Namespace, target.Name, uid)
				continue
			}
			if err != nil && !apierrors.IsNotFound(err) {
				return a.deleteFailed(owner, job.PodFailure{UID: target.UID}, target.Name, err, events)
			}
		}
		break
	}
	if pod.DeletionTimestamp != nil {
		// An earlier attempt has deleted it, or another client has.
		return job.Report{}, nil
	}
	deleted, err := write(ctx, func(ctx context.Context) (bool, error) {
		return k8s.DeletePod(ctx, a.Kubernetes, owner.Namespace, target.Name, uid)
	})
	switch {
	case err != nil:
		return a.deleteFailed(owner, job.PodFailure{UID: target.UID, Released: target.Release}, target.Name, err, events)
	case !deleted:
		return vanished(target.UID), nil
	}
	events.on(jobSubject(owner), event.Normal(event.SuccessfulDelete, "Deleted pod: "+target.Name))
	return job.Report{}, nil
}

func (a *Activities) deleteFailed(owner *batchv1.Job, failure job.PodFailure, name string, err error, events *announcer) (job.Report, error) {
	if answered(err) {
		events.on(jobSubject(owner), event.Warning(event.FailedDelete, fmt.Sprintf("Error deleting: %v", err)))
	}
	return failed(failure, err, "delete Pod %s/%s", owner.Namespace, name)
}

// gather calls do for every item, some at a time. It returns the results in the order of the items, and the
// first error after all have ended.
func gather[Item, Result any](items []Item, do func(Item) (Result, error)) ([]Result, error) {
	results := make([]Result, len(items))
	var group errgroup.Group
	group.SetLimit(parallelRequests)
	for i, item := range items {
		group.Go(func() (err error) {
			results[i], err = do(item)
			return err
		})
	}
	return results, group.Wait()
}

// releaseAttempts bounds how often a Pod is read anew that changes while it is released.
const releaseAttempts = 5

// releasePod removes the tracking finalizer of a Pod of the Job whose fate is recorded. Nearly always one request does and tests it
// all; wrote says that it did.
func (a *Activities) releasePod(ctx context.Context, owner *batchv1.Job, release job.Release) (report job.Report, wrote bool, err error) {
	after, err := write(ctx, func(ctx context.Context) (*corev1.Pod, error) {
		return k8s.ReleaseTrackedPod(ctx, a.Kubernetes, owner, release.Name, types.UID(release.UID), release.Phase)
	})
	wrote = after != nil
	if err == nil && after == nil {
		report, err = a.releaseExamined(ctx, owner, release)
	}
	switch {
	case err == nil && after != nil && k8s.Removed(after), // No PodWatch may run just now that would tell.
		errors.Is(err, k8s.ErrGone), apierrors.IsNotFound(err):
		return vanished(release.UID), wrote, nil
	case err != nil:
		report, err = failed(job.PodFailure{UID: release.UID}, err, "release Pod %s/%s", owner.Namespace, release.Name)
	}
	return report, wrote, err
}

// releaseExamined reads the Pod and releases it if it may be.
func (a *Activities) releaseExamined(ctx context.Context, owner *batchv1.Job, release job.Release) (job.Report, error) {
	for attempt := 1; ; attempt++ {
		pod, err := k8s.GetPodLive(ctx, a.Kubernetes, owner.Namespace, release.Name, types.UID(release.UID))
		switch {
		case err != nil:
			return job.Report{}, err
		case !a.owns(owner, pod):
			return foreign(pod), nil
		case !claim.Tracked(pod) && !(claim.Ended(pod) && claim.Watched(pod)):
			return job.Report{}, nil
		}
		if _, err = a.releaseReadPod(ctx, pod, false); !apierrors.IsConflict(err) || attempt == releaseAttempts {
			return job.Report{}, err
		}
	}
}

func (a *Activities) releaseReadPod(ctx context.Context, pod *corev1.Pod, removed bool) (*corev1.Pod, error) {
	return write(ctx, func(ctx context.Context) (*corev1.Pod, error) {
		return k8s.ReleaseReadPod(ctx, a.Kubernetes, pod, removed)
	})
}

// owns reports whether the Job controls the Pod, so that it may be read, deleted and released
// for the Job, even if its labels no longer match or it will not be counted.
func (a *Activities) owns(owner *batchv1.Job, pod *corev1.Pod) bool {
	verdict := claim.Decide(pod, a.owner(owner))
	return verdict.Own() || verdict != claim.Foreign && verdict != claim.Adopt && claim.IsControlledBy(pod, owner.Name, owner.UID)
}
