package k8s

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// writeStatus writes by server-side apply; conditions of other types than Ostinato's,
// being a map by type, stay.
func (s ownCronJobs) writeStatus(ctx context.Context, read *ostinatov1.CronJob, status *ostinatov1.CronJobStatus) error {
	patch, err := cronJobStatusPatch(read, status)
	if err != nil {
		return err
	}
	force := true
	_, err = s.client.CronJobs(read.Namespace).Patch(ctx, read.Name, types.ApplyPatchType, patch,
		metav1.PatchOptions{FieldManager: CronJobFieldManager, Force: &force}, "status")
	return err
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
