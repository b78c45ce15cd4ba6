package config

import (
	"io"
	"time"
)

// Worker holds the settings of cmd/worker.
type Worker struct {
	Common
	// MaxConcurrentWorkflowTasks (of CronJobs), MaxConcurrentJobTasks,
	// MaxConcurrentActivities and MaxConcurrentLocalActivities bound what this
	// process does at a time. Fewer Job than CronJob tasks let due runs start
	// before runs in progress go on.
	MaxConcurrentWorkflowTasks   int
	MaxConcurrentJobTasks        int
	MaxConcurrentActivities      int
	MaxConcurrentLocalActivities int
	// MaxConcurrentBulkActivities bounds the bulk Pod activities of this process.
	MaxConcurrentBulkActivities int
	// MaxPollers is how far the number of pollers of one task queue may grow.
	MaxPollers int
	// BulkPodsPerSecond bounds this process's Pod creates and deletes on the bulk queue.
	BulkPodsPerSecond float64
	// BulkActivitiesPerSecond bounds the starts of bulk activities over all
	// workers; Temporal enforces it.
	BulkActivitiesPerSecond float64
	// EvidenceLogLines and EvidenceLogBytes bound what is kept of a failed Pod's
	// log; 0 keeps nothing, and then the right to read logs is not needed.
	EvidenceLogLines int
	EvidenceLogBytes int
	// StickyCacheSize is how many workflows this process keeps in memory.
	StickyCacheSize int
	// StickyTimeout is how long a workflow task waits for the process that has the
	// workflow in memory before any other may take it.
	StickyTimeout time.Duration
	// WatchShards is the number of PodWatch workflows that share the Pods; the
	// same for every worker of a cluster.
	WatchShards int
	// DeploymentName and BuildID turn on Worker Deployment Versioning; both or none.
	DeploymentName string
	BuildID        string
}

// Versioned reports whether Worker Deployment Versioning is on.
func (w Worker) Versioned() bool { return w.BuildID != "" }

// ParseWorker reads the settings of cmd/worker from its arguments (without the
// program's name) and the environment. Help goes to output, with flag.ErrHelp as
// the error. Every other error says which setting to change, and how.
func ParseWorker(arguments []string, lookup LookupEnv, output io.Writer) (Worker, error) {
	var w Worker
	set := newFlagSet("worker", "hosts Ostinato's workflows and activities", output)
	w.register(set)
	set.DurationVar(&w.DrainTimeout, "drain-timeout", 20*time.Second, "how long activities in progress may take after SIGTERM")
	set.IntVar(&w.MaxConcurrentWorkflowTasks, "max-concurrent-workflow-tasks", 64, "workflow tasks of CronJobs at a time")
	set.IntVar(&w.MaxConcurrentJobTasks, "max-concurrent-job-tasks", 16, "workflow tasks of Jobs at a time; fewer than of CronJobs, so that due runs start first")
	set.IntVar(&w.MaxConcurrentActivities, "max-concurrent-activities", 200, "activities of a workflow queue at a time")
	set.IntVar(&w.MaxConcurrentLocalActivities, "max-concurrent-local-activities", 200, "local activities, which is most API calls, at a time")
	set.IntVar(&w.MaxConcurrentBulkActivities, "max-concurrent-bulk-activities", 8, "bulk Pod activities at a time")
	set.IntVar(&w.MaxPollers, "max-pollers", 16, "pollers of one task queue; their number follows the load up to this")
	set.Float64Var(&w.BulkPodsPerSecond, "bulk-pods-per-second", 500, "Pod creates and deletes a second by this process's bulk activities")
	set.Float64Var(&w.BulkActivitiesPerSecond, "bulk-activities-per-second", 100, "bulk activities started a second over all workers")
	set.IntVar(&w.EvidenceLogLines, "evidence-log-lines", 20, "last lines of a failed Pod's log to keep in its workflow; 0 keeps none")
	set.IntVar(&w.EvidenceLogBytes, "evidence-log-bytes", 4096, "bytes of a failed Pod's log to keep in its workflow at most; 0 keeps none")
	set.IntVar(&w.StickyCacheSize, "sticky-cache-size", 10000, "workflows kept in memory")
	set.DurationVar(&w.StickyTimeout, "sticky-timeout", 5*time.Second, "wait for the worker that has a workflow in memory before another takes over")
	set.IntVar(&w.WatchShards, "watch-shards", 1, "PodWatch workflows that share the Pods, 1 to 16; the same for every worker of a cluster")
	set.StringVar(&w.DeploymentName, "deployment-name", "", "Worker Deployment name; with --build-id turns on Worker Deployment Versioning")
	set.StringVar(&w.BuildID, "build-id", "", "Worker Deployment build ID; with --deployment-name turns on Worker Deployment Versioning")
	if err := set.parse(arguments, lookup); err != nil {
		return Worker{}, err
	}
	return w, w.validate()
}
