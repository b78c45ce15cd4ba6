package hostile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/test/harness"
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

// usage watches the resident memory of the workers.
type usage struct{ pids []int }

// measureWorkers makes the kernel forget the workers' peaks so far (proc(5), clear_refs).
func measureWorkers(t *testing.T) usage {
	t.Helper()
	var workers usage
	for _, worker := range stack.Workers() {
		workers.pids = append(workers.pids, worker.PID())
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", worker.PID()), []byte("5"), 0); err != nil {
			t.Fatalf("forget the peak of %s: %v", worker.Name(), err)
		}
	}
	return workers
}

// below returns nil when the workers are the same processes, and never had more memory.
func (u usage) below(limit uint64) error {
	if err := sameWorkers(stack, u.pids); err != nil {
		return err
	}
	for _, pid := range u.pids {
		process, err := procfs.NewProc(pid)
		if err != nil {
			return err
		}
		status, err := process.NewStatus()
		if err != nil {
			return err
		}
		if status.VmHWM > limit {
			return fmt.Errorf("worker %d had %d MiB, want %d at most", pid, status.VmHWM>>20, limit>>20)
		}
	}
	return nil
}
