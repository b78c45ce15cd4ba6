package bridge

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// No message holds a Pod template.

// cronJobSpec is the signal for a CronJob.
func (c *controller) cronJobSpec(cronJob *ostinatov1.CronJob, overdue bool) Signal {
	return Signal{protocol.CronJobSpecSignal, protocol.CronJobSpec{
		CronJob: cronJobReference(cronJob),
		Created: cronJob.CreationTimestamp.UTC(),
		Spec:    schedule.SpecOf(cronJob),
		Overdue: overdue,
	}}
}

// cronJobStart starts a CronJob's workflow, which reads itself where the object's
// status and its Jobs say it was.
func (c *controller) cronJobStart(cronJob *ostinatov1.CronJob) Start {
	start := Start{
		ID:      c.workflowID(cronJobKey(cronJob)),
		Place:   order.Place{Work: order.Due, Namespace: cronJob.Namespace},
		Summary: "CronJob " + cronJob.Namespace + "/" + cronJob.Name,
		Input: protocol.CronJobInput{
			CronJob:          cronJobReference(cronJob),
			Created:          cronJob.CreationTimestamp.UTC(),
			Spec:             schedule.SpecOf(cronJob),
			SearchAttributes: c.SearchAttributes,
		},
	}
	if c.SearchAttributes {
		start.Attributes = attributes(cronJob.Namespace, cronJob.Name, "")
	}
	return start
}

// jobInput is a Job's workflow input.
func (c *controller) jobInput(object *batchv1.Job) protocol.JobInput {
	input := protocol.JobInput{
		Job:       protocol.ObjectReference{Namespace: object.Namespace, Name: object.Name, UID: string(object.UID)},
		Spec:      job.SpecOf(object).WithDefaults(c.Config.JobDefaults),
		Begun:     job.Begun(object.Status),
		Scheduled: k8s.ScheduledTime(object),
	}
	if owner, owned := claim.CronJobOf(object); owned {
		input.CronJob = owner.Name
	}
	return input
}

// jobSpec is the signal for a Job.
func (c *controller) jobSpec(job *batchv1.Job) Signal {
	return Signal{protocol.JobSpecSignal, protocol.JobSpec{Input: c.jobInput(job)}}
}

// jobStart starts a Job's workflow.
func (c *controller) jobStart(job *batchv1.Job) Start {
	input := c.jobInput(job)
	start := Start{
		ID:      c.Config.Cluster.JobWorkflowID(job.Namespace, job.Name),
		Place:   order.Place{Work: order.Running, Namespace: job.Namespace},
		Summary: "Job " + job.Namespace + "/" + job.Name,
		Input:   input,
	}
	if c.SearchAttributes {
		start.Attributes = attributes(job.Namespace, input.CronJob, job.Name)
	}
	return start
}

// jobClosed is the signal for a run that ended.
func jobClosed(cronJob *ostinatov1.CronJob, run closing) Signal {
	return Signal{protocol.JobClosedSignal, protocol.JobClosed{
		CronJobUID: string(cronJob.UID),
		Name:       run.name,
		Result:     protocol.JobEnd{UID: run.uid, Outcome: run.outcome},
	}}
}

// jobSeen is the signal for a Job that a CronJob's workflow may not know.
func jobSeen(cronJob *ostinatov1.CronJob, name string, uid types.UID) Signal {
	return Signal{protocol.JobSeenSignal, protocol.JobSeen{CronJobUID: string(cronJob.UID), Name: name, UID: string(uid)}}
}

// deleted is the signal for an object that is gone.
func deleted(uid string) Signal {
	return Signal{protocol.DeletedSignal, protocol.Deleted{UID: uid}}
}

func cronJobReference(cronJob *ostinatov1.CronJob) protocol.ObjectReference {
	return protocol.ObjectReference{
		Namespace: cronJob.Namespace, Name: cronJob.Name, UID: string(cronJob.UID), Native: k8s.IsNative(cronJob),
	}
}

// reference is what the CronJob's status says of its workflow.
func (c *controller) reference(cronJob *ostinatov1.CronJob) ostinatov1.WorkflowReference {
	return ostinatov1.WorkflowReference{Namespace: c.TemporalNamespace, ID: c.workflowID(cronJobKey(cronJob))}
}

// searchAttributes are those that Ostinato sets, with their types.
var searchAttributes = map[string]enumspb.IndexedValueType{
	protocol.NamespaceAttribute:     enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	protocol.CronJobNameAttribute:   enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	protocol.JobNameAttribute:       enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	protocol.ScheduledTimeAttribute: enumspb.INDEXED_VALUE_TYPE_DATETIME,
}

// HaveSearchAttributes asks Temporal whether the namespace has the search
// attributes that Ostinato sets. Where some are missing it logs the command that
// adds them. Where Temporal won't say, it says so in the log and returns false.
func HaveSearchAttributes(ctx context.Context, sdk client.Client, namespace string, logger *slog.Logger) bool {
	response, err := sdk.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		logger.Warn("Temporal did not list its search attributes, so none are set; with --search-attributes=on they are taken as existing",
			"error", err)
		return false
	}
	command, ok := missingAttributes(response.GetCustomAttributes(), namespace)
	if !ok {
		logger.Warn("search attributes are missing, so none are set on workflows; add them and restart the bridge", "command", command)
	}
	return ok
}

// missingAttributes returns the command that adds the missing search attributes,
// or ok when there are none. An attribute of another type counts as missing: the
// command then says so by failing.
func missingAttributes(have map[string]enumspb.IndexedValueType, namespace string) (command string, ok bool) {
	var missing strings.Builder
	for _, name := range slices.Sorted(maps.Keys(searchAttributes)) {
		if have[name] != searchAttributes[name] {
			fmt.Fprintf(&missing, " --name %s --type %s", name, searchAttributes[name])
		}
	}
	if missing.Len() == 0 {
		return "", true
	}
	return "temporal operator search-attribute create --namespace " + namespace + missing.String(), false
}

// attributes returns the search attributes of an object's workflow; empty names
// are left out.
func attributes(namespace, cronJob, job string) temporal.SearchAttributes {
	var updates []temporal.SearchAttributeUpdate
	for _, attribute := range []struct{ name, value string }{
		{protocol.NamespaceAttribute, namespace},
		{protocol.CronJobNameAttribute, cronJob},
		{protocol.JobNameAttribute, job},
	} {
		if attribute.value != "" {
			updates = append(updates, temporal.NewSearchAttributeKeyKeyword(attribute.name).ValueSet(attribute.value))
		}
	}
	return temporal.NewSearchAttributes(updates...)
}
