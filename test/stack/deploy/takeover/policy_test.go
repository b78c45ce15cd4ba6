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

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/test/stack/deploy/deployment"
)

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
