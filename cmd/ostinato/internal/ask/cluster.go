package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

// Requests a second to the API server, and at once: client-go's 5 and 10 are for controllers, which no person waits
// for.
const (
	requestsPerSecond = 50
	requestsAtOnce    = 100
)

// pageSize is how many objects the API server sends at a time.
const pageSize = 500

// Cluster is the API server as the person who asks may use it.
type Cluster struct {
	clients *k8s.Clients
	config  *rest.Config
	// Namespace is that of the objects; empty for all.
	Namespace string
	// Selector chooses objects by their labels; empty for all.
	Selector string
	dates    *dates
}

// NewCluster returns the API server of a configuration.
func NewCluster(config *rest.Config, namespace, selector string) (*Cluster, error) {
	config = rest.CopyConfig(config)
	if config.QPS == 0 {
		config.QPS, config.Burst = requestsPerSecond, requestsAtOnce
	}
	seen, watched := &dates{}, rest.CopyConfig(config)
	watched.Wrap(seen.wrap)
	clients, err := k8s.NewClients(watched)
	if err != nil {
		return nil, err
	}
	return &Cluster{clients: clients, config: config, Namespace: namespace, Selector: selector, dates: seen}, nil
}

// CronJobs lists the CronJobs, or reads those of the names.
func (c *Cluster) CronJobs(ctx context.Context, names ...string) ([]ostinatov1.CronJob, error) {
	if len(names) > 0 {
		var found []ostinatov1.CronJob
		for _, name := range names {
			cronJob, err := c.CronJob(ctx, name)
			if err != nil {
				return nil, err
			}
			found = append(found, *cronJob)
		}
		return found, nil
	}
	var found []ostinatov1.CronJob
	err := c.EachCronJob(ctx, func(cronJob *ostinatov1.CronJob) error {
		found = append(found, *cronJob)
		return nil
	})
	return found, err
}

// EachCronJob lists the CronJobs and holds few of them at a time. It returns the first error of do.
func (c *Cluster) EachCronJob(ctx context.Context, do func(*ostinatov1.CronJob) error) error {
	options := metav1.ListOptions{LabelSelector: c.Selector, Limit: pageSize}
	for {
		page, err := c.clients.CronJobs.CronJobs(c.Namespace).List(ctx, options)
		var status apierrors.APIStatus
		if apierrors.IsResourceExpired(err) && errors.As(err, &status) && status.Status().Continue != "" {
			// The list is older than the API server keeps it. It goes on at the same name, by what there is now.
			options.Continue = status.Status().Continue
			continue
		}
		if err != nil {
			return fmt.Errorf("list CronJobs: %w", err)
		}
		for n := range page.Items {
			if err := do(&page.Items[n]); err != nil {
				return err
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return nil
		}
	}
}

// Names returns the names of the first CronJobs, or Jobs, at most a page of them.
func (c *Cluster) Names(ctx context.Context, jobs bool) ([]string, error) {
	var names []string
	options := metav1.ListOptions{LabelSelector: c.Selector, Limit: pageSize}
	if jobs {
		page, err := c.clients.Kubernetes.BatchV1().Jobs(c.Namespace).List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list Jobs: %w", err)
		}
		for _, job := range page.Items {
			names = append(names, job.Name)
		}
		return names, nil
	}
	page, err := c.clients.CronJobs.CronJobs(c.Namespace).List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("list CronJobs: %w", err)
	}
	for _, cronJob := range page.Items {
		names = append(names, cronJob.Name)
	}
	return names, nil
}

// CronJob reads one CronJob.
func (c *Cluster) CronJob(ctx context.Context, name string) (*ostinatov1.CronJob, error) {
	if c.Namespace == "" {
		return nil, fmt.Errorf("CronJob %s may be in any namespace: name one with --namespace in place of --all-namespaces", name)
	}
	cronJob, err := c.clients.CronJobs.CronJobs(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get CronJob %s/%s: %w", c.Namespace, name, err)
	}
	return cronJob, nil
}

// TryCronJob asks the API server, by a dry run, whether it would take a CronJob that is new or changed.
func (c *Cluster) TryCronJob(ctx context.Context, cronJob *ostinatov1.CronJob) error {
	client, dryRun := c.clients.CronJobs.CronJobs(cronJob.Namespace), []string{metav1.DryRunAll}
	known, err := client.Get(ctx, cronJob.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = client.Create(ctx, cronJob, metav1.CreateOptions{DryRun: dryRun, FieldValidation: metav1.FieldValidationStrict})
	case err == nil:
		changed := cronJob.DeepCopy()
		changed.ResourceVersion = known.ResourceVersion
		_, err = client.Update(ctx, changed, metav1.UpdateOptions{DryRun: dryRun, FieldValidation: metav1.FieldValidationStrict})
	}
	return err
}

// Suspension says who suspends or resumes, as claimed, and why. A dry run asks the API server whether it would take it.
type Suspension struct {
	Suspend bool
	By, Why string
	DryRun  bool
}

// Suspend writes spec.suspend of a CronJob as it was read, with who and why in the annotations that a signal leaves too. When is
// left to the API server: by the clock of this machine, a signal that comes later could look like an earlier one.
func (c *Cluster) Suspend(ctx context.Context, cronJob *ostinatov1.CronJob, wanted Suspension) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"uid": cronJob.UID, "resourceVersion": cronJob.ResourceVersion,
			"annotations": map[string]any{
				names.SuspendedByAnnotation: orNull(wanted.By),
				names.SuspendNoteAnnotation: orNull(wanted.Why),
			},
		},
		"spec": map[string]any{"suspend": wanted.Suspend},
	})
	if err != nil {
		return fmt.Errorf("encode the patch of CronJob %s/%s: %w", cronJob.Namespace, cronJob.Name, err)
	}
	options := metav1.PatchOptions{FieldManager: k8s.CommandFieldManager}
	if wanted.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	if _, err := c.clients.CronJobs.CronJobs(cronJob.Namespace).Patch(ctx, cronJob.Name, types.MergePatchType, patch, options); err != nil {
		return fmt.Errorf("write spec.suspend of CronJob %s/%s: %w", cronJob.Namespace, cronJob.Name, err)
	}
	return nil
}

// orNull takes an annotation off where there is no text for it.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// CreateJob creates a Job, or tries to.
func (c *Cluster) CreateJob(ctx context.Context, job *batchv1.Job, dryRun bool) (*batchv1.Job, error) {
	options := metav1.CreateOptions{FieldManager: k8s.CommandFieldManager}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	created, err := c.clients.Kubernetes.BatchV1().Jobs(job.Namespace).Create(ctx, job, options)
	if err != nil {
		return nil, fmt.Errorf("create Job %s/%s: %w", job.Namespace, job.Name, err)
	}
	return created, nil
}

// Job reads a Job.
func (c *Cluster) Job(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	job, err := c.clients.Kubernetes.BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get Job %s/%s: %w", namespace, name, err)
	}
	return job, nil
}

// JobsOf lists the Jobs that a CronJob controls.
func (c *Cluster) JobsOf(ctx context.Context, cronJob *ostinatov1.CronJob) ([]batchv1.Job, error) {
	var found []batchv1.Job
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := c.clients.Kubernetes.BatchV1().Jobs(cronJob.Namespace).List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list the Jobs of CronJob %s/%s: %w", cronJob.Namespace, cronJob.Name, err)
		}
		for _, job := range page.Items {
			if metav1.IsControlledBy(&job, cronJob) {
				found = append(found, job)
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return found, nil
		}
	}
}

// Pods lists the Pods of a Job, the first made first.
func (c *Cluster) Pods(ctx context.Context, namespace, job string) ([]corev1.Pod, error) {
	list, err := c.clients.Kubernetes.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
	if err != nil {
		return nil, fmt.Errorf("list the Pods of Job %s/%s: %w", namespace, job, err)
	}
	return list.Items, nil
}

// Logs opens the log of a container; close it.
func (c *Cluster) Logs(ctx context.Context, pod *corev1.Pod, container string, follow bool) (io.ReadCloser, error) {
	stream, err := c.clients.Kubernetes.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: container, Follow: follow}).Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the log of container %s of Pod %s/%s: %w", container, pod.Namespace, pod.Name, err)
	}
	return stream, nil
}
