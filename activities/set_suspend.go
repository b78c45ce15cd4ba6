package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// SetSuspend writes spec.suspend of a CronJob or Job, and who did it, when and
// why. It returns the generation that the write made or found. An answer that a
// repetition can't change is a RefusedErrorType error.
func (a *Activities) SetSuspend(ctx context.Context, request protocol.SetSuspendRequest) (protocol.SetSuspendResult, error) {
	patch, err := suspendPatch(request)
	if err != nil {
		return protocol.SetSuspendResult{}, err
	}
	doing := fmt.Sprintf("set suspend of %s %s/%s", request.Kind, request.Object.Namespace, request.Object.Name)
	object, err := a.patchSuspend(ctx, request, patch)
	switch refused := refusal(err); {
	case err == nil:
		return protocol.SetSuspendResult{Generation: object.GetGeneration()}, nil
	case apierrors.IsNotFound(err), a.replaced(ctx, request, err):
		return protocol.SetSuspendResult{Gone: true}, nil
	case refused != nil:
		return protocol.SetSuspendResult{}, refusedError(refused, "%s", doing)
	}
	return protocol.SetSuspendResult{}, outage(err, "%s", doing)
}

// suspendPatch is a merge patch; an absent note or sender removes an older one.
func suspendPatch(request protocol.SetSuspendRequest) ([]byte, error) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"uid": request.Object.UID,
			"annotations": map[string]any{
				names.SuspendedAtAnnotation: request.At.UTC().Format(time.RFC3339),
				names.SuspendedByAnnotation: orNull(request.Note.By),
				names.SuspendNoteAnnotation: orNull(request.Note.Note),
			},
		},
		"spec": map[string]any{"suspend": request.Suspend},
	})
	if err != nil {
		return nil, fmt.Errorf("encode suspend patch: %w", err)
	}
	return patch, nil
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (a *Activities) patchSuspend(ctx context.Context, request protocol.SetSuspendRequest, patch []byte) (metav1.Object, error) {
	object := request.Object
	switch request.Kind {
	case "CronJob":
		return a.CronJobs.CronJobs(object.Namespace).Patch(ctx, object.Name, types.MergePatchType, patch,
			metav1.PatchOptions{FieldManager: k8s.CronJobFieldManager})
	case "Job":
		return a.Kubernetes.BatchV1().Jobs(object.Namespace).Patch(ctx, object.Name, types.MergePatchType, patch,
			metav1.PatchOptions{FieldManager: k8s.JobFieldManager})
	}
	return nil, apierrors.NewBadRequest("kind " + request.Kind + " can't be suspended")
}

// replaced reports whether the API server refused the patch since the object has
// another UID now.
func (a *Activities) replaced(ctx context.Context, request protocol.SetSuspendRequest, err error) bool {
	if !apierrors.IsConflict(err) && !apierrors.IsInvalid(err) {
		return false
	}
	var found metav1.Object
	if request.Kind == "CronJob" {
		found, err = a.CronJobs.CronJobs(request.Object.Namespace).Get(ctx, request.Object.Name, metav1.GetOptions{})
	} else {
		found, err = a.Kubernetes.BatchV1().Jobs(request.Object.Namespace).Get(ctx, request.Object.Name, metav1.GetOptions{})
	}
	return apierrors.IsNotFound(err) || err == nil && string(found.GetUID()) != request.Object.UID
}
