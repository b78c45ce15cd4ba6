package activities

import (
	"context"
	"errors"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
)

// releaseAttempts bounds how often a Pod is read anew that changes while it is released.
const releaseAttempts = 5

// releasePod removes the tracking finalizer of a Pod of the Job whose fate is recorded, unless
// its phase is not the one that was counted. Nearly always one request does and tests it all.
func (a *Activities) releasePod(ctx context.Context, owner *batchv1.Job, release job.Release) (job.Report, error) {
	uid := types.UID(release.UID)
	after, err := k8s.ReleaseTrackedPod(ctx, a.Kubernetes, k8s.TrackedPod{
		Namespace: owner.Namespace, Name: release.Name, UID: uid, Job: owner.UID, Phase: release.Phase,
	})
	var report job.Report
	if err == nil && after == nil {
		report, err = a.releaseExamined(ctx, owner, release)
	}
	switch {
	case err == nil && after != nil && k8s.Removed(after), // No PodWatch may run just now that would tell.
		errors.Is(err, k8s.ErrGone), apierrors.IsNotFound(err):
		return vanished(release.UID), nil
	case err != nil:
		return failed(job.PodFailure{UID: release.UID}, err, "release Pod %s/%s", owner.Namespace, release.Name)
	}
	return report, nil
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
		case release.Phase != "" && pod.Status.Phase != release.Phase:
			return found(k8s.PodFact(pod)), nil
		case !claim.Tracked(pod) && !(claim.Ended(pod) && claim.Watched(pod)):
			return job.Report{}, nil
		}
		if err = k8s.ReleaseReadPod(ctx, a.Kubernetes, pod, false); !apierrors.IsConflict(err) || attempt == releaseAttempts {
			return job.Report{}, err
		}
	}
}

// owns reports whether the Job controls the Pod, so that it may be read, deleted and released
// for the Job, even if its labels no longer match or nobody will count it.
func (a *Activities) owns(owner *batchv1.Job, pod *corev1.Pod) bool {
	verdict := claim.Decide(pod, a.owner(owner))
	return verdict.Own() || verdict != claim.Foreign && verdict != claim.Adopt && claim.IsControlledBy(pod, owner.Name, owner.UID)
}
