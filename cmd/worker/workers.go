package main

import (
	"fmt"
	"sync"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/workflows"
)

// queueWorker is the worker of one task queue.
type queueWorker struct {
	queue string
	worker.Worker
}

// workers are the workers of the task queues.
type workers []queueWorker

// mostJobActivities is how many regular activities of Jobs this process has at a time: those that
// the API server did not answer at once, and lists. Each may hold a Job of 1.3 MB, and the API
// server is no faster with more.
const mostJobActivities = 64

// newWorkers makes the workers. The first error that a worker can't recover from
// goes to fatal.
func newWorkers(settings config.Worker, temporal client.Client, activities *activities.Activities, fatal chan<- error) workers {
	worker.SetStickyWorkflowCacheSize(settings.StickyCacheSize)
	pollers := worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{
		InitialNumberOfPollers: min(4, settings.MaxPollers),
		MinimumNumberOfPollers: 1,
		MaximumNumberOfPollers: settings.MaxPollers,
	})
	options := func(queue string) worker.Options {
		return worker.Options{
			WorkerStopTimeout:            settings.DrainTimeout,
			StickyScheduleToStartTimeout: settings.StickyTimeout,
			WorkflowTaskPollerBehavior:   pollers,
			ActivityTaskPollerBehavior:   pollers,
			DisableRegistrationAliasing:  true,
			DeploymentOptions:            deployment(settings),
			OnFatalError: func(err error) {
				select {
				case fatal <- fmt.Errorf("worker of task queue %s: %w", queue, err):
				default:
				}
			},
		}
	}

	served := workflows.Options{Cluster: settings.Cluster, Weights: settings.Weights, StartLead: settings.StartLead, Versioned: settings.Versioned()}
	var all workers
	for _, kind := range []struct {
		queue             string
		tasks, activities int
	}{
		{settings.Cluster.ControlTaskQueue(), settings.MaxConcurrentWorkflowTasks, settings.MaxConcurrentActivities},
		{settings.Cluster.JobTaskQueue(), settings.MaxConcurrentJobTasks, min(settings.MaxConcurrentActivities, mostJobActivities)},
	} {
		controlOptions := options(kind.queue)
		controlOptions.Interceptors = []interceptor.WorkerInterceptor{workflows.Interceptor(served)}
		controlOptions.MaxConcurrentWorkflowTaskExecutionSize = kind.tasks
		controlOptions.MaxConcurrentActivityExecutionSize = kind.activities
		controlOptions.MaxConcurrentLocalActivityExecutionSize = settings.MaxConcurrentLocalActivities
		control := worker.New(temporal, kind.queue, controlOptions)
		workflows.Register(control, served)
		activities.RegisterControl(control)
		all = append(all, queueWorker{kind.queue, control})
	}

	queue := settings.Cluster.BulkTaskQueue()
	bulkOptions := options(queue)
	bulkOptions.DisableWorkflowWorker = true
	bulkOptions.MaxConcurrentActivityExecutionSize = settings.MaxConcurrentBulkActivities
	bulkOptions.TaskQueueActivitiesPerSecond = settings.BulkActivitiesPerSecond
	bulk := worker.New(temporal, queue, bulkOptions)
	activities.RegisterBulk(bulk)
	all = append(all, queueWorker{queue, bulk})

	queue = settings.Cluster.WatchTaskQueue()
	watchOptions := options(queue)
	watchOptions.DisableWorkflowWorker = true
	watch := worker.New(temporal, queue, watchOptions)
	activities.RegisterWatch(watch)
	return append(all, queueWorker{queue, watch})
}

// deployment returns the Worker Deployment Versioning options.
func deployment(settings config.Worker) worker.DeploymentOptions {
	if !settings.Versioned() {
		return worker.DeploymentOptions{}
	}
	return worker.DeploymentOptions{
		UseVersioning: true,
		Version:       worker.WorkerDeploymentVersion{DeploymentName: settings.DeploymentName, BuildID: settings.BuildID},
	}
}

// start starts every worker, or none.
func (w workers) start() error {
	for i, worker := range w {
		if err := worker.Start(); err != nil {
			w[:i].stop()
			return fmt.Errorf("start the worker of task queue %s: %w", worker.queue, err)
		}
	}
	return nil
}

// stop stops polling at once and gives what is in progress its time.
func (w workers) stop() {
	var group sync.WaitGroup
	for _, worker := range w {
		group.Go(worker.Stop)
	}
	group.Wait()
}

func (w workers) queues() []string {
	var queues []string
	for _, worker := range w {
		queues = append(queues, worker.queue)
	}
	return queues
}
