package takeover

import (
	"context"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/test/deploy/deployment"
	"ostinato.dev/ostinato/test/harness"
)

// With the bridge's token by hand, no Job can be deleted but one that has ended and
// has a TTL.
func TestWhatTheBridgesTokenCanDelete(t *testing.T) {
	namespace := stack.Namespace(t)
	bridge, err := deployment.Client(t.Context(), stack.Stack, deployment.BridgeAccount)
	if err != nil {
		t.Fatal(err)
	}
	create(t, namespace, "ended")
	create(t, namespace, "ended-with-ttl", harness.TTLAfterFinished(3600))
	create(t, namespace, "runs-with-ttl", harness.TTLAfterFinished(0), harness.RunSeconds(600))
	jobIs(t, namespace, "ended", batchv1.JobComplete)
	jobIs(t, namespace, "ended-with-ttl", batchv1.JobComplete)
	for name, allowed := range map[string]bool{"ended": false, "ended-with-ttl": true, "runs-with-ttl": false} {
		// The policy takes the API server a moment to load.
		harness.Eventually(t, harness.Slack, func(ctx context.Context) error {
			err := bridge.BatchV1().Jobs(namespace).Delete(ctx, name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
			refused := apierrors.IsForbidden(err) && strings.Contains(err.Error(), "only finished Jobs with spec.ttlSecondsAfterFinished")
			if allowed && err != nil || !allowed && !refused {
				return fmt.Errorf("delete Job %s: %v, allowed is %t", name, err, allowed)
			}
			return nil
		})
	}
	harness.Eventually(t, harness.Slack, func(ctx context.Context) error {
		return deployment.WellTyped(ctx, stack.Kubernetes, "ostinato-bridge-jobs")
	})
}

// The worker may write to Jobs that name no manager, and still not to another's.
func TestTheWorkersTokenReachesTakenOverJobs(t *testing.T) {
	namespace := stack.Namespace(t)
	worker, err := deployment.Client(t.Context(), stack.Stack, deployment.WorkerAccount)
	if err != nil {
		t.Fatal(err)
	}
	create(t, namespace, "unmarked", harness.RunSeconds(600))
	create(t, namespace, "theirs", func(spec *batchv1.JobSpec) {
		spec.ManagedBy = ptr.To("other.example/controller")
	})
	suspend := func(ctx context.Context, name string) error {
		_, err := worker.BatchV1().Jobs(namespace).Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"suspend":true}}`),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	harness.Eventually(t, harness.Slack, func(ctx context.Context) error {
		if err := suspend(ctx, "theirs"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "or that it may take over") {
			return fmt.Errorf("suspend another controller's Job: %v", err)
		}
		return nil
	})
	if err := suspend(t.Context(), "unmarked"); err != nil {
		t.Errorf("suspend a Job that is taken over: %v", err)
	}
}
