package ask

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"ostinato.dev/ostinato/internal/names"
)

// Polled is a task queue of Ostinato's, and who polls it.
type Polled struct {
	Queue string
	// Tasks is workflow or activity.
	Tasks string
	// Pollers is how many have asked in the last five minutes, the latest at Last.
	Pollers int
	Last    time.Time
	// Err says why the task queue could not be described.
	Err error
}

// Pollers describes the task queues of a cluster in a namespace of Temporal; empty means that of the settings. An error is of
// Temporal as a whole.
func (w *Workflows) Pollers(ctx context.Context, namespace string, cluster names.Cluster) (polled []Polled, err error) {
	const workflow, activity = enums.TASK_QUEUE_TYPE_WORKFLOW, enums.TASK_QUEUE_TYPE_ACTIVITY
	err = w.in(ctx, namespace, func(ctx context.Context, temporal client.Client) error {
		for _, queue := range []struct {
			name string
			kind enums.TaskQueueType
		}{
			{cluster.ControlTaskQueue(), workflow}, {cluster.ControlTaskQueue(), activity},
			{cluster.JobTaskQueue(), workflow}, {cluster.JobTaskQueue(), activity},
			{cluster.BulkTaskQueue(), activity}, {cluster.WatchTaskQueue(), activity},
		} {
			one := Polled{Queue: queue.name, Tasks: "workflow"}
			if queue.kind == activity {
				one.Tasks = "activity"
			}
			described, err := temporal.DescribeTaskQueue(ctx, queue.name, queue.kind)
			switch {
			case Unreachable(err):
				return fmt.Errorf("describe task queue %s: %w", queue.name, err)
			case err != nil:
				one.Err = err
			}
			one.Pollers = len(described.GetPollers())
			for _, poller := range described.GetPollers() {
				if at := poller.GetLastAccessTime().AsTime(); at.After(one.Last) {
					one.Last = at
				}
			}
			polled = append(polled, one)
		}
		return nil
	})
	return polled, err
}

// Server describes a Temporal server, in its own words.
type Server struct {
	Version string
	// Lost is what its databases have lost, in words; empty where nothing is.
	Lost string
	// Short is what it is short of, in words; empty where nothing is.
	Short string
}

// Server asks Temporal for its version, and for what is lost of a namespace and what it is short of; empty means that of the settings. What it does not say is empty.
func (w *Workflows) Server(ctx context.Context, namespace string) (server Server, err error) {
	err = w.in(ctx, namespace, func(ctx context.Context, temporal client.Client) error {
		service := temporal.WorkflowService()
		system, err := service.GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
		if err != nil {
			return fmt.Errorf("ask Temporal for its version: %w", err)
		}
		server.Version = system.GetServerVersion()
		described, err := service.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: cmp.Or(namespace, w.Namespace())})
		if err != nil {
			return fmt.Errorf("describe namespace %s of Temporal: %w", cmp.Or(namespace, w.Namespace()), err)
		}
		said := described.GetNamespaceInfo().GetData()
		server.Lost, server.Short = said[names.TemporalLostData], said[names.TemporalShortData]
		return nil
	})
	return server, err
}
