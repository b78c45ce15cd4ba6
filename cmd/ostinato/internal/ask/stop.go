package ask

import (
	"context"
	"encoding/json"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

// ChosenJobs lists the Jobs of the namespace, or of all, that the selector chooses.
func (c *Cluster) ChosenJobs(ctx context.Context) ([]batchv1.Job, error) {
	var found []batchv1.Job
	options := metav1.ListOptions{LabelSelector: c.Selector, Limit: pageSize}
	for {
		page, err := c.clients.Kubernetes.BatchV1().Jobs(c.Namespace).List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list Jobs: %w", err)
		}
		found = append(found, page.Items...)
		if options.Continue = page.Continue; options.Continue == "" {
			return found, nil
		}
	}
}

// Stop writes the annotation that ends a Job. It may be repeated. A dry run asks the API server whether it would take
// it.
func (c *Cluster) Stop(ctx context.Context, of *batchv1.Job, stop job.Stop, dryRun bool) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": of.UID, "annotations": map[string]any{names.StopAnnotation: stop.Annotation()},
	}})
	if err != nil {
		return fmt.Errorf("encode the patch of Job %s/%s: %w", of.Namespace, of.Name, err)
	}
	options := metav1.PatchOptions{FieldManager: k8s.CommandFieldManager}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	if _, err := c.clients.Kubernetes.BatchV1().Jobs(of.Namespace).Patch(ctx, of.Name, types.MergePatchType, patch, options); err != nil {
		return fmt.Errorf("stop Job %s/%s: %w", of.Namespace, of.Name, err)
	}
	return nil
}
