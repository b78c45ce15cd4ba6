package k8s

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// CronJobStore reads and writes the CronJobs of one of the two groups, batch.ostinato.dev
// (OwnCronJobs) and batch (NativeCronJobs), in the shape of the former. Which of them a
// CronJob is, IsNative tells.
type CronJobStore interface {
	// Get reads a CronJob. Errors are the API server's.
	Get(ctx context.Context, namespace, name string) (*ostinatov1.CronJob, error)
	// Glance reads it from the API server's watch cache: cheaper, and a moment old.
	Glance(ctx context.Context, namespace, name string) (*ostinatov1.CronJob, error)
	// Patch writes a merge patch of the main resource and returns what is stored.
	Patch(ctx context.Context, namespace, name string, patch []byte) (*ostinatov1.CronJob, error)
	// writeStatus writes the whole status once, where the CronJob is still the one that
	// was read, and returns what is stored.
	writeStatus(ctx context.Context, read *ostinatov1.CronJob, status *ostinatov1.CronJobStatus) (*ostinatov1.CronJob, error)
}

// GetCronJob reads a CronJob; the error is ErrGone when it does not exist or has
// another UID.
func GetCronJob(ctx context.Context, store CronJobStore, namespace, name string, uid types.UID) (*ostinatov1.CronJob, error) {
	cronJob, err := store.Get(ctx, namespace, name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, ErrGone
	case err != nil:
		return nil, err
	case cronJob.UID != uid:
		return nil, ErrGone
	}
	return cronJob, nil
}

// ApplyCronJobStatus makes status the CronJob's status and returns the CronJob as stored.
// Fields that the status leaves out are removed. cronJob is the CronJob as just read: its
// UID and resourceVersion guard the write. When another writer came first, the CronJob is
// read again. Errors are ErrGone or the API server's, a conflict included when other
// writers persist.
func ApplyCronJobStatus(ctx context.Context, store CronJobStore, cronJob *ostinatov1.CronJob, status *ostinatov1.CronJobStatus) (*ostinatov1.CronJob, error) {
	for attempt := 1; ; attempt++ {
		stored, err := WriteCronJobStatus(ctx, store, cronJob, status)
		if !apierrors.IsConflict(err) || attempt == applyAttempts {
			return stored, err
		}
		if cronJob, err = GetCronJob(ctx, store, cronJob.Namespace, cronJob.Name, cronJob.UID); err != nil {
			return nil, err
		}
	}
}

// WriteCronJobStatus is ApplyCronJobStatus for who judges a conflict himself.
func WriteCronJobStatus(ctx context.Context, store CronJobStore, cronJob *ostinatov1.CronJob, status *ostinatov1.CronJobStatus) (*ostinatov1.CronJob, error) {
	stored, err := store.writeStatus(ctx, cronJob, status)
	switch {
	case apierrors.IsNotFound(err):
		return nil, ErrGone
	case err != nil:
		return nil, err
	}
	return stored, nil
}

// OwnCronJobs stores the CronJobs of batch.ostinato.dev.
func OwnCronJobs(client CronJobsGetter) CronJobStore { return ownCronJobs{client} }

type ownCronJobs struct{ client CronJobsGetter }

func (s ownCronJobs) Get(ctx context.Context, namespace, name string) (*ostinatov1.CronJob, error) {
	return s.client.CronJobs(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s ownCronJobs) Glance(ctx context.Context, namespace, name string) (*ostinatov1.CronJob, error) {
	return s.client.CronJobs(namespace).Get(ctx, name, metav1.GetOptions{ResourceVersion: "0"})
}

func (s ownCronJobs) Patch(ctx context.Context, namespace, name string, patch []byte) (*ostinatov1.CronJob, error) {
	return s.client.CronJobs(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: CronJobFieldManager})
}
