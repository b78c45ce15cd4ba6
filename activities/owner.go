package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// subject is the object that a request is about.
type subject struct {
	protocol.ObjectReference
	// job: it is a Job, and otherwise a CronJob.
	job bool
}

func aJob(reference protocol.ObjectReference) subject { return subject{reference, true} }

func aCronJob(reference protocol.ObjectReference) subject { return subject{reference, false} }

// workflow returns the type and the ID of the object's own workflow.
func (s subject) workflow(cluster names.Cluster) (kind, id string) {
	if s.job {
		return protocol.JobWorkflow, cluster.JobWorkflowID(s.Namespace, s.Name)
	}
	return protocol.CronJobWorkflow, s.CronJobWorkflowID(cluster)
}

// mayAsk returns an error that is not to be retried unless the object's own workflow has scheduled the activity. A
// standalone activity has no workflow.
func (a *Activities) mayAsk(info activity.Info, object subject) error {
	kind, id := object.workflow(a.Cluster)
	if info.WorkflowExecution.ID == id && info.WorkflowType != nil && info.WorkflowType.Name == kind {
		return nil
	}
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf(
		"only workflow %q of type %s may ask for this: signal it, or edit the object", id, kind), OtherWorkflowErrorType, nil)
}

// serves returns an error that is not to be retried for what can't be the reference of an object, for an object that this
// worker does not serve, and for an activity that the object's own workflow has not scheduled.
func (a *Activities) serves(info activity.Info, object subject) error {
	if err := object.Validate(); err != nil {
		return invalidRequest(err)
	}
	if object.job && object.Native {
		return invalidRequest(errors.New("native marks a CronJob of batch/v1, and nothing else"))
	}
	if object.Native && !a.TakeOverCronJobs {
		return temporal.NewNonRetryableApplicationError(fmt.Sprintf(
			"this worker does not take over CronJobs of batch/v1, such as %s/%s: run every worker and bridge with --takeover=cronjobs, or end the workflow",
			object.Namespace, object.Name), NotTakenOverErrorType, nil)
	}
	if k8s.Serves(a.Namespaces, object.Namespace) {
		return a.mayAsk(info, object)
	}
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf(
		"this worker does not serve namespace %q of %s, but %s: add it to --namespaces of every worker and bridge, and give them its rights (deploy/namespace)",
		object.Namespace, object.Name, strings.Join(a.Namespaces, ", ")), NotServedErrorType, nil)
}

// freshness says how old what is read may be.
type freshness int

const (
	// live reads are as new as etcd.
	live freshness = iota
	// cached reads come from the API server's watch cache, at a third of the cost, or from memory, and may be a moment old. They
	// are enough where only an owner's identity matters, or where the API server refuses a write unless the object is
	// as it was read.
	cached
)

// jobFor reads the Job that a request is about. Every activity about a Job asks it before anything else: any writer of
// Temporal may have asked for the activity. done says that the answer is given already: the Job is gone, has another
// UID, or is another controller's.
func (a *Activities) jobFor(ctx context.Context, reference protocol.ObjectReference, fresh freshness) (owner *batchv1.Job, result protocol.JobResult, done bool, err error) {
	owner, err = a.readJob(ctx, reference.Namespace, reference.Name, types.UID(reference.UID), fresh)
	switch {
	case errors.Is(err, k8s.ErrGone):
		result.Gone = true
		return nil, result, true, nil
	case err != nil:
		return nil, result, true, outage(err, "get Job %s/%s", reference.Namespace, reference.Name)
	}
	result.Foreign = !claim.Ours(owner, a.TakeOverJobs)
	return owner, result, result.Foreign, nil
}

// readJob reads a Job. Where the watch cache does not have it, a live read tells whether it is gone.
func (a *Activities) readJob(ctx context.Context, namespace, name string, uid types.UID, fresh freshness) (*batchv1.Job, error) {
	if fresh == cached {
		found, err := a.Kubernetes.BatchV1().Jobs(namespace).Get(ctx, name, k8s.FromCache)
		if err == nil && found.UID == uid || err != nil && !apierrors.IsNotFound(err) {
			return found, err
		}
	}
	return k8s.GetJob(ctx, a.Kubernetes, namespace, name, uid)
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

// invalidRequest returns the error for a request that no workflow of Ostinato makes; nil where nothing is wrong.
func invalidRequest(err error) error {
	if err == nil {
		return nil
	}
	return temporal.NewNonRetryableApplicationError("invalid request: "+clip.Message(err.Error()), protocol.InvalidRequestErrorType, nil)
}

// list is one of a request's, with its bound: what plans make. Its items cost requests to the API
// server, and anybody who may write to Temporal may ask for them.
type list struct {
	name       string
	count, max int
}

// bounded says which of a request's lists is too long.
func bounded(lists ...list) error {
	for _, list := range lists {
		if list.count > list.max {
			return fmt.Errorf("%s: %d, want %d at most", list.name, list.count, list.max)
		}
	}
	return nil
}

// owner is the Job as claim judges Pods by it.
func (a *Activities) owner(job *batchv1.Job) claim.Owner { return claim.Of(job, a.TakeOverJobs) }
