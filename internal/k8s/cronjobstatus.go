package k8s

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// ApplyCronJobStatus makes status the CronJob's status by server-side apply.
// Fields that the status leaves out are removed; conditions of other types than
// Ostinato's, being a map by type, stay. cronJob is the CronJob as just read: a
// status write ignores the UID of a custom resource, so that its resourceVersion
// guards against a re-created CronJob. When another writer came first, the
// CronJob is read again. Errors are ErrGone or the API server's, a conflict
// included when other writers persist.
func ApplyCronJobStatus(ctx context.Context, client CronJobsGetter, cronJob *ostinatov1.CronJob, status *ostinatov1.CronJobStatus) error {
	force := true
	options := metav1.PatchOptions{FieldManager: CronJobFieldManager, Force: &force}
	for attempt := 1; ; attempt++ {
		patch, err := cronJobStatusPatch(cronJob, status)
		if err != nil {
			return err
		}
		_, err = client.CronJobs(cronJob.Namespace).Patch(ctx, cronJob.Name, types.ApplyPatchType, patch, options, "status")
		switch {
		case apierrors.IsNotFound(err):
			return ErrGone
		case !apierrors.IsConflict(err) || attempt == applyAttempts:
			return err
		}
		if cronJob, err = GetCronJob(ctx, client, cronJob.Namespace, cronJob.Name, cronJob.UID); err != nil {
			return err
		}
	}
}

func cronJobStatusPatch(cronJob *ostinatov1.CronJob, status *ostinatov1.CronJobStatus) ([]byte, error) {
	patch, err := json.Marshal(map[string]any{
		"apiVersion": ostinatov1.GroupVersion.String(),
		"kind":       ostinatov1.CronJobKind.Kind,
		"metadata": map[string]any{
			"name": cronJob.Name, "namespace": cronJob.Namespace, "resourceVersion": cronJob.ResourceVersion,
		},
		"status": status,
	})
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	return patch, nil
}

// GetCronJob reads a CronJob; the error is ErrGone when it does not exist or has
// another UID.
func GetCronJob(ctx context.Context, client CronJobsGetter, namespace, name string, uid types.UID) (*ostinatov1.CronJob, error) {
	cronJob, err := client.CronJobs(namespace).Get(ctx, name, metav1.GetOptions{})
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
