package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

// Pair is the two CronJobs of a name, of batch/v1 and ours; either is nil where there is none.
type Pair struct {
	Native *batchv1.CronJob
	Ours   *ostinatov1.CronJob
}

// fewPairs is up to how many pairs of a namespace are read one by one: more are listed.
const fewPairs = 3

// Pairs reads the CronJobs of names in a namespace.
func (c *Cluster) Pairs(ctx context.Context, namespace string, wanted []string) (map[string]Pair, error) {
	found := map[string]Pair{}
	if len(wanted) <= fewPairs {
		for _, name := range wanted {
			pair, err := c.pair(ctx, namespace, name)
			if err != nil {
				return nil, err
			}
			found[name] = pair
		}
		return found, nil
	}
	one := *c
	one.Namespace, one.Selector = namespace, ""
	natives, err := one.NativeCronJobs(ctx)
	if err != nil {
		return nil, err
	}
	own, err := one.CronJobs(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]Pair{}
	for n := range natives {
		all[natives[n].Name] = Pair{Native: &natives[n]}
	}
	for n := range own {
		all[own[n].Name] = Pair{Native: all[own[n].Name].Native, Ours: &own[n]}
	}
	for _, name := range wanted {
		found[name] = all[name]
	}
	return found, nil
}

func (c *Cluster) pair(ctx context.Context, namespace, name string) (pair Pair, err error) {
	if pair.Native, err = c.clients.Kubernetes.BatchV1().CronJobs(namespace).Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		pair.Native = nil
	} else if err != nil {
		return pair, fmt.Errorf("get CronJob %s/%s of batch/v1: %w", namespace, name, err)
	}
	if pair.Ours, err = c.clients.CronJobs.CronJobs(namespace).Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		pair.Ours = nil
	} else if err != nil {
		return pair, fmt.Errorf("get CronJob %s/%s: %w", namespace, name, err)
	}
	return pair, nil
}

// NativeCronJobs lists the CronJobs of batch/v1.
func (c *Cluster) NativeCronJobs(ctx context.Context) (found []batchv1.CronJob, err error) {
	options := metav1.ListOptions{LabelSelector: c.Selector, Limit: pageSize}
	for {
		page, err := c.clients.Kubernetes.BatchV1().CronJobs(c.Namespace).List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list CronJobs of batch/v1: %w", err)
		}
		found = append(found, page.Items...)
		if options.Continue = page.Continue; options.Continue == "" {
			return found, nil
		}
	}
}

// NativeNames is Names for CronJobs of batch/v1.
func (c *Cluster) NativeNames(ctx context.Context) (names []string, err error) {
	page, err := c.clients.Kubernetes.BatchV1().CronJobs(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: c.Selector, Limit: pageSize})
	if err != nil {
		return nil, fmt.Errorf("list CronJobs of batch/v1: %w", err)
	}
	for _, native := range page.Items {
		names = append(names, native.Name)
	}
	return names, nil
}

// Jobs lists the Jobs of a namespace.
func (c *Cluster) Jobs(ctx context.Context, namespace string) (found []batchv1.Job, err error) {
	err = k8s.EachJob(ctx, c.clients.Kubernetes, namespace, func(job *batchv1.Job) error {
		found = append(found, *job)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the Jobs of namespace %s: %w", namespace, err)
	}
	return found, nil
}

// HoldNative suspends a CronJob of batch/v1 for a move, as it was read, or with hold false ends that. It returns the CronJob as
// it is then.
func (c *Cluster) HoldNative(ctx context.Context, native *batchv1.CronJob, hold bool, at time.Time) (*batchv1.CronJob, error) {
	patch, err := holdPatch(&native.ObjectMeta, hold, at, nil)
	if err != nil {
		return nil, err
	}
	held, err := c.clients.Kubernetes.BatchV1().CronJobs(native.Namespace).Patch(ctx, native.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: k8s.CommandFieldManager})
	if err != nil {
		return nil, fmt.Errorf("write spec.suspend of CronJob %s/%s of batch/v1: %w", native.Namespace, native.Name, err)
	}
	return held, nil
}

// HoldOurs is HoldNative for a CronJob of ours, which says who suspended it and why.
func (c *Cluster) HoldOurs(ctx context.Context, ours *ostinatov1.CronJob, hold bool, at time.Time, by string) (*ostinatov1.CronJob, error) {
	why := ""
	if hold {
		why = "moved to batch/v1"
	}
	patch, err := holdPatch(&ours.ObjectMeta, hold, at, map[string]any{
		names.SuspendedByAnnotation: orNull(by),
		names.SuspendNoteAnnotation: orNull(why),
	})
	if err != nil {
		return nil, err
	}
	held, err := c.clients.CronJobs.CronJobs(ours.Namespace).Patch(ctx, ours.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: k8s.CommandFieldManager})
	if err != nil {
		return nil, fmt.Errorf("write spec.suspend of CronJob %s/%s: %w", ours.Namespace, ours.Name, err)
	}
	return held, nil
}

func holdPatch(meta *metav1.ObjectMeta, hold bool, at time.Time, annotations map[string]any) ([]byte, error) {
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[names.SuspendedForMoveAnnotation] = nil
	if hold {
		annotations[names.SuspendedForMoveAnnotation] = at.UTC().Format(time.RFC3339Nano)
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": meta.UID, "resourceVersion": meta.ResourceVersion, "annotations": annotations},
		"spec":     map[string]any{"suspend": hold},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the patch of CronJob %s/%s: %w", meta.Namespace, meta.Name, err)
	}
	return patch, nil
}

// CreateNative creates a CronJob of batch/v1. As a dry run it asks whether the API server would take it, whether or not there
// is one of the name.
func (c *Cluster) CreateNative(ctx context.Context, native *batchv1.CronJob, dryRun bool) error {
	_, err := c.clients.Kubernetes.BatchV1().CronJobs(native.Namespace).Create(ctx, native, createOptions(dryRun))
	if err != nil && !(dryRun && apierrors.IsAlreadyExists(err)) {
		return fmt.Errorf("create CronJob %s/%s of batch/v1: %w", native.Namespace, native.Name, err)
	}
	return nil
}

// CreateOurs is CreateNative for a CronJob of ours.
func (c *Cluster) CreateOurs(ctx context.Context, ours *ostinatov1.CronJob, dryRun bool) error {
	_, err := c.clients.CronJobs.CronJobs(ours.Namespace).Create(ctx, ours, createOptions(dryRun))
	if err != nil && !(dryRun && apierrors.IsAlreadyExists(err)) {
		return fmt.Errorf("create CronJob %s/%s: %w", ours.Namespace, ours.Name, err)
	}
	return nil
}

func createOptions(dryRun bool) metav1.CreateOptions {
	options := metav1.CreateOptions{FieldManager: k8s.CommandFieldManager}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return options
}

// DeleteNative deletes a CronJob of batch/v1 as it was read, and leaves its Jobs.
func (c *Cluster) DeleteNative(ctx context.Context, native *batchv1.CronJob) error {
	if err := c.clients.Kubernetes.BatchV1().CronJobs(native.Namespace).Delete(ctx, native.Name, orphaning(&native.ObjectMeta)); err != nil {
		return fmt.Errorf("delete CronJob %s/%s of batch/v1: %w", native.Namespace, native.Name, err)
	}
	return nil
}

// DeleteOurs is DeleteNative for a CronJob of ours.
func (c *Cluster) DeleteOurs(ctx context.Context, ours *ostinatov1.CronJob) error {
	if err := c.clients.CronJobs.CronJobs(ours.Namespace).Delete(ctx, ours.Name, orphaning(&ours.ObjectMeta)); err != nil {
		return fmt.Errorf("delete CronJob %s/%s: %w", ours.Namespace, ours.Name, err)
	}
	return nil
}

func orphaning(meta *metav1.ObjectMeta) metav1.DeleteOptions {
	return metav1.DeleteOptions{
		PropagationPolicy: ptr.To(metav1.DeletePropagationOrphan),
		Preconditions:     &metav1.Preconditions{UID: &meta.UID, ResourceVersion: &meta.ResourceVersion},
	}
}
