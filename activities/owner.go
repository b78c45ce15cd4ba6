package activities

import (
	"context"
	"errors"

	"go.temporal.io/sdk/temporal"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
)

// standing says what an owner is to Ostinato. Every activity asks it before anything
// else: whoever may write to Temporal may have asked for the activity.
type standing int

const (
	// ours: the object exists, has the UID and is Ostinato's.
	ours standing = iota
	// gone: it does not exist, or has another UID.
	gone
	// foreign: it is another controller's.
	foreign
)

// freshness says how old what is read may be.
type freshness int

const (
	// live reads are as new as etcd.
	live freshness = iota
	// cached reads come from the API server's watch cache, at a third of the cost, or from
	// memory, and may be a moment old. They serve where an owner's identity is all that
	// matters, or where a write tells whether it was the object as it is.
	cached
)

// job reads the Job that a request is about.
func (a *Activities) job(ctx context.Context, reference protocol.ObjectReference, fresh freshness) (*batchv1.Job, standing, error) {
	if fresh == cached {
		job, err := a.Kubernetes.BatchV1().Jobs(reference.Namespace).Get(ctx, reference.Name, metav1.GetOptions{ResourceVersion: "0"})
		switch {
		case err == nil && string(job.UID) == reference.UID:
			return a.judge(job)
		case err != nil && !apierrors.IsNotFound(err):
			return nil, gone, outage(err, "get Job %s/%s", reference.Namespace, reference.Name)
		}
		// Only a live read tells that it is gone.
	}
	job, err := k8s.GetJob(ctx, a.Kubernetes, reference.Namespace, reference.Name, types.UID(reference.UID))
	switch {
	case errors.Is(err, k8s.ErrGone):
		return nil, gone, nil
	case err != nil:
		return nil, gone, outage(err, "get Job %s/%s", reference.Namespace, reference.Name)
	}
	return a.judge(job)
}

func (a *Activities) judge(job *batchv1.Job) (*batchv1.Job, standing, error) {
	if !claim.Ours(job, a.TakeOverJobs) {
		return job, foreign, nil
	}
	return job, ours, nil
}

// jobFor is job for activities that answer with a JobResult. done says that the
// answer is given already.
func (a *Activities) jobFor(ctx context.Context, reference protocol.ObjectReference, fresh freshness) (owner *batchv1.Job, result protocol.JobResult, done bool, err error) {
	owner, is, err := a.job(ctx, reference, fresh)
	result.Gone, result.Foreign = err == nil && is == gone, is == foreign
	return owner, result, err != nil || is != ours, err
}

// cronJobs stores the CronJobs of either group.
func (a *Activities) cronJobs(native bool) k8s.CronJobStore {
	if native {
		return k8s.NativeCronJobs(a.Kubernetes)
	}
	return k8s.OwnCronJobs(a.CronJobs)
}

// cronJob reads the CronJob that a request is about; nil when it is gone.
func (a *Activities) cronJob(ctx context.Context, reference protocol.ObjectReference) (*ostinatov1.CronJob, error) {
	cronJob, err := k8s.GetCronJob(ctx, a.cronJobs(reference.Native), reference.Namespace, reference.Name, types.UID(reference.UID))
	switch {
	case errors.Is(err, k8s.ErrGone):
		return nil, nil
	case err != nil:
		return nil, outage(err, "get CronJob %s/%s", reference.Namespace, reference.Name)
	}
	return cronJob, nil
}

// invalidRequest returns the error for a request that no workflow of Ostinato makes.
func invalidRequest(err error) error {
	return temporal.NewNonRetryableApplicationError("invalid request: "+k8s.Bounded(err.Error()), protocol.InvalidRequestErrorType, nil)
}

// owner is the Job as claim judges Pods by it.
func (a *Activities) owner(job *batchv1.Job) claim.Owner { return claim.Of(job, a.TakeOverJobs) }
