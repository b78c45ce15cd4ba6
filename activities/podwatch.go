package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/jobwatch"
	"ostinato.dev/ostinato/internal/podwatch"
	"ostinato.dev/ostinato/internal/protocol"
)

// WatchPods watches the Pods of one shard (internal/podwatch), and its new Jobs, whose first Pods it makes
// (internal/jobwatch). It does so for the PodWatch workflow of that shard alone, and once at a time in a process: two
// watches of a shard would tell everything twice. It runs until it is cancelled, or until its worker stops or the Pods can't
// be watched, and then returns a retryable error, so that another worker takes over.
func (a *Activities) WatchPods(ctx context.Context, input protocol.PodWatchInput) (err error) {
	defer func() { a.countRefused(ctx, protocol.WatchPodsActivity, nil, err) }()
	info := activity.GetInfo(ctx)
	if err := invalidRequest(a.isWatch(info, input)); err != nil {
		return err
	}
	end, err := a.watches.begin(input, info.WorkflowExecution.RunID)
	if err != nil {
		return err
	}
	defer end()
	var watcher *podwatch.Watcher
	jobs, err := jobwatch.New(jobwatch.Options{
		Kubernetes: a.Kubernetes, Namespaces: a.Namespaces, Shard: input.Shard, Shards: input.Shards,
		Weights: a.Weights, Clock: a.Clock, Begin: a.BeginJob,
		Start: func(ctx context.Context, input protocol.JobInput) error {
			made := input.Job
			return watcher.Begin(made.Namespace, made.Name, types.UID(made.UID), func(due []job.PodFact) ([]job.PodFact, error) {
				input, taken := input.WithEnds(due)
				return taken, a.StartJob(ctx, input)
			})
		},
	})
	if err != nil {
		return err
	}
	watcher, err = podwatch.New(podwatch.Options{
		Kubernetes: a.Kubernetes, Temporal: a.Temporal, Cluster: a.Cluster, Namespaces: a.Namespaces,
		Shard: input.Shard, Shards: input.Shards, Attempt: info.Attempt, TakeOverJobs: a.TakeOverJobs, Weights: a.Weights, Job: jobs.Job, Jobs: jobs.Jobs, Begins: jobs.Begins,
		Metrics: a.Metrics.watch, Logger: activity.GetLogger(ctx), Clock: a.Clock,
		Report: func(details podwatch.Details) { a.reportWatch(ctx, info.TaskToken, input.Shard, details) },
	})
	if err != nil {
		return invalidRequest(err)
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopping := temporal.NewApplicationErrorWithOptions("the worker is stopping", WorkerStoppingErrorType,
		temporal.ApplicationErrorOptions{NextRetryDelay: 100 * time.Millisecond})
	go func() {
		select {
		case <-activity.GetWorkerStopChannel(ctx):
			cancel(stopping)
		case <-running.Done():
		}
	}()
	var group sync.WaitGroup
	group.Go(func() { jobs.Run(running) })
	err = watcher.Run(running)
	cancel(nil)
	group.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(context.Cause(running), stopping):
		return stopping
	}
	return outage(err, "watch Pods, shard %d of %d", input.Shard, input.Shards)
}

// reportTimeout bounds a report of a watch: the next one is due by then.
const reportTimeout = 2 * time.Second

// reportWatch tells Temporal that a watch goes on. The SDK keeps a heartbeat back for up to 8 of the 10 seconds after which
// Temporal gives the watch to another worker, which lists all Pods, and ends an attempt whose heartbeat has no answer for as
// long. Here a watch ends only by an answer.
func (a *Activities) reportWatch(ctx context.Context, token []byte, shard int, details podwatch.Details) {
	reporting, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	err := a.heartbeat(reporting, token, details)
	switch serviceerror.ToStatus(err).Code() {
	case codes.OK:
		a.Metrics.watch.Heartbeat(shard, a.Clock.Now())
	case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted:
		activity.GetLogger(ctx).Warn("Temporal has not heard that the Pods are watched, will report again", "error", err)
	default:
		lost(ctx)()
	}
}

// isWatch returns an error for an activity that is not of the shard's own workflow.
func (a *Activities) isWatch(info activity.Info, input protocol.PodWatchInput) error {
	if a.WatchShards > 0 && input.Shards != a.WatchShards {
		return fmt.Errorf("watch Pods, shard %d of %d: this worker watches in %d shards (--watch-shards)", input.Shard, input.Shards, a.WatchShards)
	}
	id, kind := a.Cluster.PodWatchWorkflowID(input.Shard, input.Shards), ""
	if info.WorkflowType != nil {
		kind = info.WorkflowType.Name
	}
	if info.WorkflowExecution.ID != id || kind != protocol.PodWatchWorkflow || info.Namespace != a.Namespace || info.IsLocalActivity {
		return fmt.Errorf("watch Pods, shard %d of %d, for workflow %q, a %q: only workflow %q, a %q, may ask for it",
			input.Shard, input.Shards, info.WorkflowExecution.ID, kind, id, protocol.PodWatchWorkflow)
	}
	return nil
}
