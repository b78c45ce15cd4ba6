package main

import (
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/workflows"
)

// workers are those of the process, and the task queue of each.
type workers struct {
	all    []worker.Worker
	queues []string
}

// maxJobActivities bounds the regular activities of Jobs that this process has at a time: those that the API server did
// not answer at once, and lists. Each may hold a Job of 1.3 MB, and the API server is no faster with more.
const maxJobActivities = 64

// turnTimeout is how long workflow code may run without letting other code of its workflow go on before the SDK takes it
// for deadlocked and ends the workflow task: less than the ten seconds of a task. The SDK's default, a second, is too
// short for a busy machine and for large values, which wait to be decoded.
const turnTimeout = 8 * time.Second

// maxPollers bounds the pollers of a task queue, whose number follows the load.
const maxPollers = 16

// bulkActivities bounds the activities of many Pods that this process has at a time, and bulkActivitiesPerSecond how many all
// workers start, which Temporal enforces: --bulk-pods-per-second bounds their requests.
const bulkActivities, bulkActivitiesPerSecond = 8, 100

// newWorkers makes the workers. The first error that a worker can't recover from goes to fatal.
func newWorkers(settings config.Worker, temporal client.Client, activities *activities.Activities, fatal chan<- error) (made workers) {
	worker.SetStickyWorkflowCacheSize(settings.StickyCacheSize)
	pollers := worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{
		InitialNumberOfPollers: 4,
		MinimumNumberOfPollers: 1,
		MaximumNumberOfPollers: maxPollers,
	})
	add := func(queue string, options worker.Options) worker.Worker {
		options.WorkerStopTimeout = settings.DrainTimeout
		options.WorkflowTaskPollerBehavior, options.ActivityTaskPollerBehavior = pollers, pollers
		options.DisableRegistrationAliasing = true
		options.DeploymentOptions = worker.DeploymentOptions{
			UseVersioning: settings.Versioned(),
			Version:       worker.WorkerDeploymentVersion{DeploymentName: settings.DeploymentName, BuildID: settings.BuildID},
		}
		options.OnFatalError = func(err error) {
			select {
			case fatal <- fmt.Errorf("worker of task queue %s: %w", queue, err):
			default:
			}
		}
		added := worker.New(temporal, queue, options)
		made.all, made.queues = append(made.all, added), append(made.queues, queue)
		return added
	}

	served := workflows.Options{
		Cluster: settings.Cluster, Weights: settings.Weights, StartLead: settings.StartLead, CallerHeader: settings.CallerHeader,
		Versioned: settings.Versioned(),
	}
	control := func(queue string, tasks, running int) {
		added := add(queue, worker.Options{
			Interceptors:                           []interceptor.WorkerInterceptor{workflows.Interceptor(served)},
			MaxConcurrentWorkflowTaskExecutionSize: tasks,
			MaxConcurrentActivityExecutionSize:     running,
			// A workflow task waits for its local activities: with fewer of them it would wait for those of others.
			MaxConcurrentLocalActivityExecutionSize: settings.MaxConcurrentWorkflowTasks,
			DeadlockDetectionTimeout:                turnTimeout,
		})
		workflows.Register(added, served)
		activities.RegisterControl(added)
	}
	control(settings.Cluster.ControlTaskQueue(), settings.MaxConcurrentWorkflowTasks, settings.MaxConcurrentActivities)
	control(settings.Cluster.JobTaskQueue(), settings.MaxConcurrentJobTasks, min(settings.MaxConcurrentActivities, maxJobActivities))
	activities.RegisterBulk(add(settings.Cluster.BulkTaskQueue(), worker.Options{
		DisableWorkflowWorker:              true,
		MaxConcurrentActivityExecutionSize: bulkActivities,
		TaskQueueActivitiesPerSecond:       bulkActivitiesPerSecond,
	}))
	activities.RegisterWatch(add(settings.Cluster.WatchTaskQueue(), worker.Options{
		DisableWorkflowWorker: true,
		// One more than there are shards: what is refused is heard while all are watched here.
		MaxConcurrentActivityExecutionSize: settings.WatchShards + 1,
	}))
	return made
}

// start starts every worker, or none.
func (w workers) start() error {
	for i, worker := range w.all {
		if err := worker.Start(); err != nil {
			workers{all: w.all[:i]}.stop()
			return fmt.Errorf("start the worker of task queue %s: %w", w.queues[i], err)
		}
	}
	return nil
}

// stop stops polling at once and gives what is in progress its time.
func (w workers) stop() {
	var group sync.WaitGroup
	for _, worker := range w.all {
		group.Go(worker.Stop)
	}
	group.Wait()
}

// countFromZero makes the counter of each outcome exist before the first has happened:
// Prometheus sees no increase in a series that begins with it, so an alert would miss the
// first missed run. The tags are those that the SDK gives to a workflow's metrics.
func countFromZero(metrics client.MetricsHandler, temporalNamespace string, cluster names.Cluster) {
	for _, outcome := range ledger.Outcomes {
		metrics.WithTags(map[string]string{
			"namespace":     temporalNamespace,
			"client_name":   "temporal_go",
			"worker_type":   "none",
			"workflow_type": protocol.CronJobWorkflow,
			"activity_type": "none",
			"task_queue":    cluster.ControlTaskQueue(),
			"outcome":       string(outcome),
		}).Counter(workflows.ScheduledTimesMetric).Inc(0)
	}
}
