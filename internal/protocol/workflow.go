package protocol

import (
	"slices"
	"time"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/steering"
)

// Workflow types, as the Temporal UI shows them.
const (
	CronJobWorkflow  = "CronJob"
	JobWorkflow      = "Job"
	PodWatchWorkflow = "PodWatch"
)

// Workflows are all workflow types.
var Workflows = []string{CronJobWorkflow, JobWorkflow, PodWatchWorkflow}

// Types of the application errors with which workflows and updates end.
const (
	// JobFailedErrorType: the Job has condition Failed; the details are its job.Result.
	JobFailedErrorType = "JobFailed"
	// BackfillRefusedErrorType is that of an update BackfillUpdate that the object does not take, or that came too late.
	BackfillRefusedErrorType = "BackfillRefused"
	// InvalidInputErrorType: the workflow was started with an input that no process of Ostinato sends.
	InvalidInputErrorType = "InvalidInput"
)

// Queries of people and tools.
const (
	// DescribeQuery answers with the workflow's state.
	DescribeQuery = "describe"
	// LedgerQuery answers with rows of the ledger, newest first.
	LedgerQuery = "ledger"
)

// Search attributes set at workflow start where the Temporal namespace has them.
const (
	NamespaceAttribute     = "KubernetesNamespace"
	CronJobNameAttribute   = "CronJobName"
	JobNameAttribute       = "JobName"
	ScheduledTimeAttribute = "ScheduledTime"
)

// Search attributes that a CronJob's workflow sets with writes of its status.
const (
	CronJobSuspendedAttribute  = "CronJobSuspended"
	CronJobLastResultAttribute = "CronJobLastResult"
	CronJobNextRunAttribute    = "CronJobNextRun"
)

// ObjectReference names one Kubernetes object; UID tells a re-created object from its predecessor of the same name.
type ObjectReference struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Native is set for a CronJob of batch/v1, and for nothing else. One of batch.ostinato.dev may have the same name.
	Native bool `json:"native,omitempty"`
}

// CronJobWorkflowID returns the ID of the workflow of the CronJob that this refers to.
func (r ObjectReference) CronJobWorkflowID(cluster names.Cluster) string {
	if r.Native {
		return cluster.NativeCronJobWorkflowID(r.Namespace, r.Name)
	}
	return cluster.CronJobWorkflowID(r.Namespace, r.Name)
}

// CronJobInput starts or continues a CronJob workflow.
type CronJobInput struct {
	CronJob ObjectReference `json:"cronJob"`
	Spec    schedule.Spec   `json:"spec"`
	// SearchAttributes says that the Temporal namespace has the four attributes that are set at the start, and
	// StatusAttributes that it has those that are set with the status.
	SearchAttributes bool `json:"searchAttributes,omitempty"`
	StatusAttributes bool `json:"statusAttributes,omitempty"`
	// State is set by continue-as-new. A workflow without it, which is new or in whose place another one ran,
	// reads the object's creation time, its status and its Jobs itself, and goes on where they say it was.
	State *schedule.State `json:"state,omitempty"`
	// Looks are set by continue-as-new: runs that are said to have started or ended; MaxLooks at most.
	Looks []schedule.Run `json:"looks,omitempty"`
	// Wishes are set by continue-as-new: they could not be written yet. MaxWishes at most.
	Wishes []Wish `json:"wishes,omitempty"`
	// Triggers are set by continue-as-new without State: they were asked for and not tried yet. schedule.MaxTriggers at most.
	Triggers []schedule.TriggerRequest `json:"triggers,omitempty"`
	// Unknown are set by continue-as-new: the unknown signals that were answered within the minute.
	Unknown steering.Unknown `json:"unknown,omitzero"`
}

// JobInput starts or continues a Job workflow. The workflow returns a job.Result, for
// a failed Job as the details of a JobFailedErrorType error.
type JobInput struct {
	Job  ObjectReference `json:"job"`
	Spec job.Spec        `json:"spec"`
	// CronJob is the owner's name, for summaries; empty for a standalone Job.
	CronJob string `json:"cronJob,omitempty"`
	// Scheduled is the run's scheduled time; zero for a standalone Job.
	Scheduled time.Time `json:"scheduled,omitzero"`
	// Pods are those that were made with the Job, job.MaxFirst at most: the first plan's.
	Pods []job.CreatedPod `json:"pods,omitempty"`
	// List says that the workflow is to begin with a list: the Job may have Pods that its starter does not know.
	List bool `json:"list,omitempty"`
	// Late says that creates of the Job's first Pods had no answer: they may land yet. A workflow takes it in once.
	Late bool `json:"late,omitempty"`
	// State is set by continue-as-new. A workflow without it plans for a Job without a status; if the Job has one, its first
	// request is answered with it (job.Base), and the workflow begins again from the Job and its Pods.
	State *job.State `json:"state,omitempty"`
	// Look is set by continue-as-new where the workflow is to begin with a look at the object, and Wishes where
	// some could not be written yet, MaxWishes at most.
	Look   bool   `json:"look,omitempty"`
	Wishes []Wish `json:"wishes,omitempty"`
	// Unknown are set by continue-as-new: the unknown signals that were answered within the minute.
	Unknown steering.Unknown `json:"unknown,omitzero"`
}

// WithEnds returns the input with the ends of its Pods, as far as the facts tell them, and these facts.
func (i JobInput) WithEnds(facts []job.PodFact) (with JobInput, taken []job.PodFact) {
	i.Pods = slices.Clone(i.Pods)
	for _, fact := range facts {
		for at := range i.Pods {
			if i.Pods[at].UID == fact.UID && fact.Ended() && fact.Tracked {
				i.Pods[at].Ended, taken = &fact, append(taken, fact)
			}
		}
	}
	return i, taken
}

// PodWatchInput starts the workflow of one watch shard.
type PodWatchInput struct {
	Shard  int `json:"shard"`
	Shards int `json:"shards"`
}
