package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/overview"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

// defaultStateDir is where `devstack dev` keeps its state: next to the user's
// other state, since it survives a clean of the cache.
func defaultStateDir() string {
	if state := os.Getenv("XDG_STATE_HOME"); state != "" {
		return filepath.Join(state, "ostinato")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), "ostinato")
	}
	return filepath.Join(home, ".local", "state", "ostinato")
}

// toolPath is the folders of the clients that were built, for PATH.
func toolPath(stack *devstack.Stack) string {
	folders := []string{filepath.Dir(stack.Tool("kubectl")), filepath.Dir(stack.Tool("temporal"))}
	return strings.Join(slices.Compact(folders), string(filepath.ListSeparator))
}

// viewer reads what the table shows.
type viewer struct {
	kubernetes kubernetes.Interface
	cronJobs   k8s.CronJobsGetter
}

func newViewer(stack *devstack.Stack) (*viewer, error) {
	config, err := stack.RESTConfig()
	if err != nil {
		return nil, err
	}
	clients, err := k8s.NewClients(config)
	if err != nil {
		return nil, err
	}
	return &viewer{kubernetes: clients.Kubernetes, cronJobs: clients.CronJobs}, nil
}

// snapshot lists CronJobs and the Jobs that Ostinato manages.
func (v *viewer) snapshot(ctx context.Context) (overview.Snapshot, error) {
	cronJobs, err := v.cronJobs.CronJobs(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return overview.Snapshot{}, fmt.Errorf("list CronJobs: %w", err)
	}
	jobs, err := v.kubernetes.BatchV1().Jobs(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return overview.Snapshot{}, fmt.Errorf("list Jobs: %w", err)
	}
	managed := slices.DeleteFunc(jobs.Items, func(job batchv1.Job) bool {
		return ptr.Deref(job.Spec.ManagedBy, "") != names.JobController
	})
	return overview.Snapshot{Now: time.Now(), CronJobs: cronJobs.Items, Jobs: managed}, nil
}
