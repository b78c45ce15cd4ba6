package config

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/steering"
)

// What a workflow keeps of a log is bounded: it is part of its history and result.
const (
	maxEvidenceLines = 1000
	maxEvidenceBytes = 64 * 1024
)

// Worker holds the settings of cmd/worker. Each field is the flag of that name, which says what it means.
type Worker struct {
	Common
	// EvidenceLogLines and EvidenceLogBytes bound what is kept of a failed Pod's
	// log; where either is 0 the right to read logs is not needed.
	EvidenceLogLines, EvidenceLogBytes int
	AcceptSignals                      steering.Signals
	StampedUsers, CallerHeader         bool
	// A start that waits for the time of its run keeps one of MaxConcurrentActivities. Fewer Job than
	// CronJob tasks let due runs start before runs in progress go on.
	MaxConcurrentWorkflowTasks int
	MaxConcurrentJobTasks      int
	MaxConcurrentActivities    int
	StartLead                  time.Duration
	BulkPodsPerSecond          float64
	StickyCacheSize            int
	StickyCacheMemory          resource.QuantityValue
	WatchShards                int
	// DeploymentName and BuildID turn on Worker Deployment Versioning; both or none.
	DeploymentName, BuildID string
}

// Versioned reports whether Worker Deployment Versioning is on.
func (w Worker) Versioned() bool { return w.BuildID != "" }

// MaxHeld is how many starts may wait for the time of their runs: the other activities are for what can't wait.
func (w Worker) MaxHeld() int { return max(w.MaxConcurrentActivities-w.MaxConcurrentActivities/5, 1) }

// WorkerCommand returns the command that runs a worker with the settings that its flags and the environment give.
func WorkerCommand(lookup LookupEnv, run func(context.Context, Worker) error) *cobra.Command {
	return program("worker", "hosts Ostinato's workflows and activities."+connections, lookup, run)
}

// AddFlags declares the worker's flags.
func (w *Worker) AddFlags(flags *command.Flags) {
	w.Common.addFlags(flags)
	jobs := flags.Group(groupJobs)
	jobs.IntVar(&w.EvidenceLogLines, "evidence-log-lines", 20, "last lines of a failed Pod's log to keep in its workflow; 0 keeps none")
	jobs.IntVar(&w.EvidenceLogBytes, "evidence-log-bytes", 4096, "most bytes of a failed Pod's log to keep in its workflow; 0 keeps none")
	temporal := flags.Group(groupTemporal)
	temporal.IntVar(&w.StickyCacheSize, "sticky-cache-size", 10000, "workflows kept in memory")
	w.StickyCacheMemory.Quantity = resource.MustParse("600Mi")
	temporal.Var(&w.StickyCacheMemory, "sticky-cache-memory", "memory in use, such as 600Mi, above which all sleeping workflows leave memory; set it to two thirds of the container's limit")
	temporal.StringVar(&w.DeploymentName, "deployment-name", "", "Worker Deployment name; with --build-id turns on Worker Deployment Versioning")
	temporal.StringVar(&w.BuildID, "build-id", "", "Worker Deployment build ID; with --deployment-name turns on Worker Deployment Versioning")
	w.AcceptSignals = steering.Default()
	temporal.Var(&w.AcceptSignals, "accept-signals", "signals and updates that people may send to CronJobs and Jobs: suspend, resume, stop, trigger and backfill, or none; an object can narrow them by annotation "+names.AcceptSignalsAnnotation)
	temporal.BoolVar(&w.CallerHeader, "caller-header", false, "believe the names of users in the header "+names.CallerHeader+" of signals and updates, which cmd/temporal sets with --access=kubernetes; with any other Temporal anybody could")
	kubernetes := flags.Group(groupKubernetes)
	kubernetes.BoolVar(&w.StampedUsers, "stamped-users", false, "believe the names of users in annotations "+names.SuspendUserAnnotation+" and "+names.RunUserAnnotation+", which the admission policies of deploy/components/who write; without these anybody could")
	work := flags.Group(groupWork)
	work.IntVar(&w.MaxConcurrentWorkflowTasks, "max-concurrent-workflow-tasks", 1280, "workflow tasks of CronJobs, and local activities, at a time")
	work.IntVar(&w.MaxConcurrentJobTasks, "max-concurrent-job-tasks", 16, "workflow tasks of Jobs at a time; keep it below that of CronJobs, so that due runs start first")
	work.IntVar(&w.MaxConcurrentActivities, "max-concurrent-activities", 1280, "activities of CronJobs at a time (of Jobs, 64 at most); four fifths may be starts that wait for their due time, which bounds how many runs start at once")
	work.DurationVar(&w.StartLead, "start-lead", schedule.MaxLead, "how long before its due time the start of a run is prepared; 0 prepares none. A suspend through Temporal is certain to count for a run only if it comes before that")
	work.Float64Var(&w.BulkPodsPerSecond, "bulk-pods-per-second", 1000, "Pod creates and deletes a second by this process's bulk activities")
	work.IntVar(&w.WatchShards, "watch-shards", 1, "PodWatch workflows that share the Pods, 1 to 16; the same for every worker of a cluster")
	work.DurationVar(&w.DrainTimeout, "drain-timeout", 20*time.Second, "how long activities in progress may take after SIGTERM")
}

func (w *Worker) validate() error {
	var p problems
	w.Common.validate(&p)
	p.check(w.EvidenceLogLines >= 0 && w.EvidenceLogLines <= maxEvidenceLines, "evidence-log-lines",
		"is %d; set it to 0 (no logs) or to %d at most", w.EvidenceLogLines, maxEvidenceLines)
	p.check(w.EvidenceLogBytes >= 0 && w.EvidenceLogBytes <= maxEvidenceBytes, "evidence-log-bytes",
		"is %d; set it to 0 (no logs) or to %d at most", w.EvidenceLogBytes, maxEvidenceBytes)
	p.atLeast(w.MaxConcurrentWorkflowTasks, 2, "max-concurrent-workflow-tasks")
	p.atLeast(w.MaxConcurrentJobTasks, 2, "max-concurrent-job-tasks")
	p.atLeast(w.MaxConcurrentActivities, 1, "max-concurrent-activities")
	p.check(w.StartLead >= 0 && w.StartLead <= schedule.MaxLead, "start-lead", "is %v; set it between 0 and %v", w.StartLead, schedule.MaxLead)
	p.positive(w.BulkPodsPerSecond, "bulk-pods-per-second")
	p.atLeast(w.StickyCacheSize, 1, "sticky-cache-size")
	p.check(w.StickyCacheMemory.Value() >= 64<<20, "sticky-cache-memory", "is %s; set it to 64Mi or more", w.StickyCacheMemory.String())
	p.check(w.WatchShards >= 1 && w.WatchShards <= names.WatchBuckets, "watch-shards",
		"is %d; set it between 1 and %d", w.WatchShards, names.WatchBuckets)
	p.check((w.DeploymentName == "") == (w.BuildID == ""), "build-id",
		"versioning needs both --deployment-name and --build-id; set the other one too, or neither")
	p.check(!strings.ContainsAny(w.DeploymentName, "."), "deployment-name", "%q holds a dot, which Temporal reserves; use a hyphen", w.DeploymentName)
	return errors.Join(p...)
}
