package ui

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// Backend is what the page asks, with the rights of the person who has started it.
type Backend interface {
	CronJobs(ctx context.Context) ([]ostinatov1.CronJob, error)
	CronJob(ctx context.Context, namespace, name string) (*ostinatov1.CronJob, error)
	May(ctx context.Context, namespace string, right ask.Right) (bool, error)
	Suspend(ctx context.Context, cronJob *ostinatov1.CronJob, wanted ask.Suspension) error
	CreateJob(ctx context.Context, job *batchv1.Job, dryRun bool) (*batchv1.Job, error)
	Job(ctx context.Context, namespace, name string) (*batchv1.Job, error)
	Stop(ctx context.Context, of *batchv1.Job, stop job.Stop, dryRun bool) error

	Ledger(ctx context.Context, cronJob *ostinatov1.CronJob, question protocol.LedgerQuestion) (rows []ostinatov1.RecentRun, whole bool, err error)
	Suspensions(ctx context.Context, cronJob *ostinatov1.CronJob) ([]ledger.Suspension, error)
	// JobWorkflow names the workflow of a Job, which may be gone.
	JobWorkflow(ctx context.Context, cronJob *ostinatov1.CronJob, job string) (ostinatov1.WorkflowReference, error)
	Evidence(ctx context.Context, workflow ostinatov1.WorkflowReference) (protocol.JobDescription, error)
	Backfill(ctx context.Context, cronJob *ostinatov1.CronJob, request schedule.BackfillRequest) (protocol.BackfillAnswer, error)
}

// Reach is the Backend of a cluster and of Temporal.
type Reach struct {
	Cluster *ask.Cluster
	*ask.Workflows
}

// CronJobs lists those of the cluster's namespace and selector.
func (r Reach) CronJobs(ctx context.Context) ([]ostinatov1.CronJob, error) {
	return r.Cluster.CronJobs(ctx)
}

// CronJob reads one.
func (r Reach) CronJob(ctx context.Context, namespace, name string) (*ostinatov1.CronJob, error) {
	return r.Cluster.In(namespace).CronJob(ctx, name)
}

// May asks the API server.
func (r Reach) May(ctx context.Context, namespace string, right ask.Right) (bool, error) {
	return r.Cluster.May(ctx, namespace, right)
}

// Suspend writes spec.suspend.
func (r Reach) Suspend(ctx context.Context, cronJob *ostinatov1.CronJob, wanted ask.Suspension) error {
	return r.Cluster.Suspend(ctx, cronJob, wanted)
}

// CreateJob creates a Job, or tries to.
func (r Reach) CreateJob(ctx context.Context, job *batchv1.Job, dryRun bool) (*batchv1.Job, error) {
	return r.Cluster.CreateJob(ctx, job, dryRun)
}

// Job reads a Job.
func (r Reach) Job(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	return r.Cluster.Job(ctx, namespace, name)
}

// Stop stops a Job, or tries to.
func (r Reach) Stop(ctx context.Context, of *batchv1.Job, stop job.Stop, dryRun bool) error {
	return r.Cluster.Stop(ctx, of, stop, dryRun)
}

// JobWorkflow asks the Job where there is one.
func (r Reach) JobWorkflow(ctx context.Context, cronJob *ostinatov1.CronJob, name string) (ostinatov1.WorkflowReference, error) {
	job, err := r.Cluster.Job(ctx, cronJob.Namespace, name)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		job = nil
	case err != nil:
		return ostinatov1.WorkflowReference{}, err
	}
	return ask.JobWorkflow(cronJob, job, cronJob.Namespace, name), nil
}
