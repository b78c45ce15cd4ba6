package hostile

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
)

// keepFinishing runs one short Job after another, three at least, until finished is
// called, which returns how many have completed.
func keepFinishing(t *testing.T, namespace string) (finished func() int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	count := 0
	go func() {
		for ctx.Err() == nil || count < 3 {
			if err := finishOne(t.Context(), namespace, fmt.Sprintf("meanwhile-%d", count)); err != nil {
				ended <- err
				return
			}
			count++
		}
		ended <- nil
	}()
	return func() int {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("a Job beside the attack: %v", err)
		}
		return count
	}
}

func finishOne(ctx context.Context, namespace, name string) error {
	spec := harness.JobSpec(harness.RunSeconds(1))
	spec.ManagedBy = ptr.To(names.JobController)
	_, err := stack.Kubernetes.BatchV1().Jobs(namespace).Create(ctx, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, ends, true, func(ctx context.Context) (bool, error) {
		last = stack.JobHas(ctx, namespace, name, batchv1.JobComplete)
		return last == nil, nil
	})
	return errors.Join(err, last)
}
