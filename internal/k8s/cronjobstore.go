package k8s

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/schedule"
)

// FromCache reads from the API server's watch cache.
var FromCache = metav1.GetOptions{ResourceVersion: "0"}

// CronJobStore reads and writes the CronJobs of one of the two groups, batch.ostinato.dev (OwnCronJobs) and batch
// (NativeCronJobs), in the shape of the former. Which of them a CronJob is, IsNative tells.
type CronJobStore interface {
	// Get reads a CronJob. Errors are the API server's. FromCache is cheaper, and a moment old.
	Get(ctx context.Context, namespace, name string, options metav1.GetOptions) (*ostinatov1.CronJob, error)
	// Patch writes a merge patch, of the main resource unless a subresource is named, and returns what is stored.
	Patch(ctx context.Context, namespace, name string, patch []byte, subresources ...string) (*ostinatov1.CronJob, error)
	// WriteStatus writes the whole status once, if the CronJob is still as it was read, and returns what is
	// stored. A later lastScheduleTime that was read stays. Errors are ErrGone or the API server's, such as a conflict.
	WriteStatus(ctx context.Context, read *ostinatov1.CronJob, status *ostinatov1.CronJobStatus) (*ostinatov1.CronJob, error)
}

// GetCronJob reads a CronJob; the error is ErrGone when it does not exist or has another UID.
func GetCronJob(ctx context.Context, store CronJobStore, namespace, name string, uid types.UID) (*ostinatov1.CronJob, error) {
	cronJob, err := store.Get(ctx, namespace, name, metav1.GetOptions{})
	return withUID(cronJob, err, uid)
}

// OwnCronJobs stores the CronJobs of batch.ostinato.dev.
func OwnCronJobs(client CronJobsGetter) CronJobStore { return ownCronJobs{client} }

type ownCronJobs struct{ client CronJobsGetter }

func (s ownCronJobs) Get(ctx context.Context, namespace, name string, options metav1.GetOptions) (*ostinatov1.CronJob, error) {
	return s.client.CronJobs(namespace).Get(ctx, name, options)
}

func (s ownCronJobs) Patch(ctx context.Context, namespace, name string, patch []byte, subresources ...string) (*ostinatov1.CronJob, error) {
	return s.client.CronJobs(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: CronJobFieldManager}, subresources...)
}

// WriteStatus writes by an update, the cheapest write of a custom resource. The API server takes only the status of it, so
// the object holds nothing else but what guards the write. Conditions of types that are not Ostinato's stay.
func (s ownCronJobs) WriteStatus(ctx context.Context, read *ostinatov1.CronJob, status *ostinatov1.CronJobStatus) (*ostinatov1.CronJob, error) {
	wanted := &ostinatov1.CronJob{
		TypeMeta: metav1.TypeMeta{APIVersion: ostinatov1.GroupVersion.String(), Kind: ostinatov1.CronJobKind.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: read.Namespace, Name: read.Name, UID: read.UID, ResourceVersion: read.ResourceVersion,
		},
		Status: schedule.StatusNotBefore(*status.DeepCopy(), read.Status),
	}
	for _, condition := range read.Status.Conditions {
		if !slices.Contains(schedule.ConditionTypes, condition.Type) && meta.FindStatusCondition(wanted.Status.Conditions, condition.Type) == nil {
			wanted.Status.Conditions = append(wanted.Status.Conditions, condition)
		}
	}
	stored, err := s.client.CronJobs(read.Namespace).UpdateStatus(ctx, wanted, metav1.UpdateOptions{FieldManager: CronJobFieldManager})
	return withUID(stored, err, read.UID)
}

// ApplyCronJobConditions writes the bridge's conditions of a CronJob of ours by server-side apply, and leaves the rest
// of the status to its owner. One that it wrote before and that is not among them is taken away. It is idempotent. A
// CronJob that is gone is left alone without an error. One that has another UID, or was written since it was read, is left alone with
// a conflict.
func ApplyCronJobConditions(ctx context.Context, client CronJobsGetter, cronJob *ostinatov1.CronJob, conditions ...metav1.Condition) error {
	patch, err := json.Marshal(map[string]any{
		"apiVersion": ostinatov1.GroupVersion.String(),
		"kind":       ostinatov1.CronJobKind.Kind,
		"metadata": map[string]any{
			"namespace": cronJob.Namespace, "name": cronJob.Name, "uid": cronJob.UID, "resourceVersion": cronJob.ResourceVersion,
		},
		"status": map[string]any{"conditions": conditions},
	})
	if err != nil {
		return fmt.Errorf("render conditions of CronJob %s/%s: %w", cronJob.Namespace, cronJob.Name, err)
	}
	_, err = client.CronJobs(cronJob.Namespace).Patch(ctx, cronJob.Name, types.ApplyPatchType, patch,
		metav1.PatchOptions{FieldManager: BridgeFieldManager, Force: ptr.To(true)}, "status")
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("apply conditions of CronJob %s/%s: %w", cronJob.Namespace, cronJob.Name, err)
	}
	return nil
}
