// Package starts says how the workflow of an object is started: by the bridge, or by the watch of new Jobs.
package starts

import (
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/holder"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/protocol"
)

// Start describes a workflow to start.
type Start struct {
	// ID is the workflow ID, from which follow its type and its task queue.
	ID string
	// Place is where it stands in Temporal's task queues.
	Place order.Place
	// Summary is what the Temporal UI shows for the workflow.
	Summary    string
	Attributes temporal.SearchAttributes
	Input      any
}

// Options returns the options of a client's call that starts the workflow.
func (s Start) Options(cluster names.Cluster, weights order.Weights) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                    s.ID,
		TaskQueue:             Wanted(cluster, s.ID).TaskQueue,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		TypedSearchAttributes: s.Attributes,
		StaticSummary:         s.Summary,
		Priority:              weights.Priority(s.Place),
	}
}

// Wanted is the workflow that is to run under an ID: a Job's or a CronJob's.
func Wanted(cluster names.Cluster, workflowID string) holder.Wanted {
	if _, _, ofJob := cluster.ParseJobWorkflowID(workflowID); ofJob {
		return holder.Wanted{ID: workflowID, Type: protocol.JobWorkflow, TaskQueue: cluster.JobTaskQueue()}
	}
	return holder.Wanted{ID: workflowID, Type: protocol.CronJobWorkflow, TaskQueue: cluster.ControlTaskQueue()}
}

// CronJob returns the start of a CronJob's workflow.
func CronJob(cluster names.Cluster, input protocol.CronJobInput) Start {
	object := input.CronJob
	return Start{
		ID:         object.CronJobWorkflowID(cluster),
		Place:      order.Place{Work: order.Due, Namespace: object.Namespace},
		Summary:    "CronJob " + object.Namespace + "/" + object.Name,
		Attributes: attributesOf(input.SearchAttributes, object.Namespace, object.Name, ""),
		Input:      input,
	}
}

// Job returns the start of a Job's workflow. attributes says that the Temporal namespace has those that are set at the start.
func Job(cluster names.Cluster, input protocol.JobInput, attributes bool) Start {
	object := input.Job
	return Start{
		ID:         cluster.JobWorkflowID(object.Namespace, object.Name),
		Place:      order.Place{Work: order.Running, Namespace: object.Namespace},
		Summary:    "Job " + object.Namespace + "/" + object.Name,
		Attributes: attributesOf(attributes, object.Namespace, input.CronJob, object.Name),
		Input:      input,
	}
}

// JobInput returns the input of the workflow of a Job whose Pods are not known. It begins with a list of them, unless the Job
// was created suspended and was not edited since: others may have Pods that the watch of new Jobs has made.
func JobInput(object *batchv1.Job, defaults job.Defaults) protocol.JobInput {
	owner, _ := claim.CronJobOf(object)
	return protocol.JobInput{
		Job:       protocol.ObjectReference{Namespace: object.Namespace, Name: object.Name, UID: string(object.UID)},
		Spec:      job.SpecOf(object).WithDefaults(defaults),
		CronJob:   owner.Name,
		Scheduled: k8s.ScheduledTime(object),
		List:      object.Generation > 1 || !ptr.Deref(object.Spec.Suspend, false),
	}
}

// attributesOf returns the search attributes of a workflow's start; none unless the Temporal namespace has them.
func attributesOf(have bool, namespace, cronJob, job string) temporal.SearchAttributes {
	if !have {
		return temporal.SearchAttributes{}
	}
	var updates []temporal.SearchAttributeUpdate
	for _, one := range []struct{ name, value string }{
		{protocol.NamespaceAttribute, namespace}, {protocol.CronJobNameAttribute, cronJob}, {protocol.JobNameAttribute, job},
	} {
		if one.value != "" {
			updates = append(updates, temporal.NewSearchAttributeKeyKeyword(one.name).ValueSet(one.value))
		}
	}
	return temporal.NewSearchAttributes(updates...)
}
