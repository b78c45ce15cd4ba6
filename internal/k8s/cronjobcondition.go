package k8s

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// BridgeFieldManager owns the conditions that the bridge writes.
const BridgeFieldManager = "ostinato-bridge"

// ApplyCronJobConditions writes the bridge's conditions of a CronJob of ours by server-side
// apply, and leaves the rest of the status to its owner. One that it wrote before and that is
// not among them is taken away. It is idempotent. A CronJob that is gone, or has another UID,
// is left alone without an error.
func ApplyCronJobConditions(ctx context.Context, client CronJobsGetter, cronJob *ostinatov1.CronJob, conditions ...metav1.Condition) error {
	patch, err := json.Marshal(map[string]any{
		"apiVersion": ostinatov1.GroupVersion.String(),
		"kind":       ostinatov1.CronJobKind.Kind,
		"metadata":   map[string]any{"namespace": cronJob.Namespace, "name": cronJob.Name, "uid": cronJob.UID},
		"status":     map[string]any{"conditions": conditions},
	})
	if err != nil {
		return fmt.Errorf("render conditions of CronJob %s/%s: %w", cronJob.Namespace, cronJob.Name, err)
	}
	_, err = client.CronJobs(cronJob.Namespace).Patch(ctx, cronJob.Name, types.ApplyPatchType, patch,
		metav1.PatchOptions{FieldManager: BridgeFieldManager, Force: ptr.To(true)}, "status")
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("apply conditions of CronJob %s/%s: %w", cronJob.Namespace, cronJob.Name, err)
	}
	return nil
}
