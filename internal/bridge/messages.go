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

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// No message holds a Pod template.

// cronJobMessages returns the start of a CronJob's workflow, which reads itself where it was, and the signal with the spec.
func (c *controller) cronJobMessages(cronJob *ostinatov1.CronJob, overdue bool) (Start, Signal) {
	reference := protocol.ObjectReference{
		Namespace: cronJob.Namespace, Name: cronJob.Name, UID: string(cronJob.UID), Native: k8s.IsNative(cronJob),
	}
	spec := schedule.SpecOf(cronJob)
	input := protocol.CronJobInput{CronJob: reference, Spec: spec, SearchAttributes: c.SearchAttributes.AtStart, StatusAttributes: c.SearchAttributes.WithStatus}
	start := c.start(cronJobKey(cronJob), order.Due, cronJob.Name, "", input)
	return start, Signal{protocol.CronJobSpecSignal, protocol.CronJobSpec{CronJob: reference, Spec: spec, Overdue: overdue}}
}

func (c *controller) jobMessages(object *batchv1.Job) (Start, Signal) {
	owner, _ := claim.CronJobOf(object)
	input := protocol.JobInput{
		Job:       protocol.ObjectReference{Namespace: object.Namespace, Name: object.Name, UID: string(object.UID)},
		Spec:      job.SpecOf(object).WithDefaults(c.Config.JobDefaults),
		CronJob:   owner.Name,
		Scheduled: k8s.ScheduledTime(object),
	}
	start := c.start(jobKey(object), order.Running, input.CronJob, object.Name, input)
	return start, Signal{protocol.JobSpecSignal, protocol.JobSpec{Input: input}}
}

// start starts the workflow of an object, with the names of its CronJob and its Job, if any, as search attributes.
func (c *controller) start(item key, work order.Work, cronJob, job string, input any) Start {
	start := Start{
		ID:      c.workflowID(item),
		Place:   order.Place{Work: work, Namespace: item.Namespace},
		Summary: item.kind.word() + " " + item.String(),
		Input:   input,
	}
	if !c.SearchAttributes.AtStart {
		return start
	}
	var updates []temporal.SearchAttributeUpdate
	set := func(attribute, value string) {
		if value != "" {
			updates = append(updates, temporal.NewSearchAttributeKeyKeyword(attribute).ValueSet(value))
		}
	}
	set(protocol.NamespaceAttribute, item.Namespace)
	set(protocol.CronJobNameAttribute, cronJob)
	set(protocol.JobNameAttribute, job)
	start.Attributes = temporal.NewSearchAttributes(updates...)
	return start
}

// reference is what the CronJob's status says about its workflow.
func (c *controller) reference(cronJob *ostinatov1.CronJob) ostinatov1.WorkflowReference {
	return ostinatov1.WorkflowReference{Namespace: c.TemporalNamespace, ID: c.workflowID(cronJobKey(cronJob))}
}

// SearchAttributes says which search attributes the Temporal namespace has: those that are set when a workflow starts, and
// those that a CronJob's workflow sets with its status.
type SearchAttributes struct{ AtStart, WithStatus bool }

// startAttributes and statusAttributes are those that Ostinato sets, with their types.
var startAttributes = map[string]enumspb.IndexedValueType{
	protocol.NamespaceAttribute:     enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	protocol.CronJobNameAttribute:   enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	protocol.JobNameAttribute:       enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	protocol.ScheduledTimeAttribute: enumspb.INDEXED_VALUE_TYPE_DATETIME,
}

var statusAttributes = map[string]enumspb.IndexedValueType{
	protocol.CronJobSuspendedAttribute:  enumspb.INDEXED_VALUE_TYPE_BOOL,
	protocol.CronJobLastResultAttribute: enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	protocol.CronJobNextRunAttribute:    enumspb.INDEXED_VALUE_TYPE_DATETIME,
}

// HaveSearchAttributes asks Temporal which search attributes of Ostinato's the namespace has. Where some are missing it logs
// the command that adds them. Where Temporal won't say, it says so in the log and returns that it has none.
func HaveSearchAttributes(ctx context.Context, sdk client.Client, namespace string, logger *slog.Logger) SearchAttributes {
	response, err := sdk.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		logger.Warn("Temporal did not list its search attributes, so none are set on workflows; restart the bridge to ask again", "error", err)
		return SearchAttributes{}
	}
	found, command := judgeAttributes(response.GetCustomAttributes(), namespace)
	if command != "" {
		logger.Warn("search attributes are missing, so they are not set on workflows; add them and restart the bridge", "command", command)
	}
	return found
}

// judgeAttributes says which of the attributes there are, and returns the command that adds the missing ones; empty where none
// is. An attribute of another type counts as missing: the command then says so by failing.
func judgeAttributes(have map[string]enumspb.IndexedValueType, namespace string) (found SearchAttributes, command string) {
	names, status := missingAttributes(have, startAttributes), missingAttributes(have, statusAttributes)
	found = SearchAttributes{AtStart: names == "", WithStatus: status == ""}
	if names+status != "" {
		command = "temporal operator search-attribute create --namespace " + namespace + names + status
	}
	return found, command
}

// missingAttributes returns the flags that add those that are missing.
func missingAttributes(have, want map[string]enumspb.IndexedValueType) string {
	var missing strings.Builder
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if have[name] != want[name] {
			fmt.Fprintf(&missing, " --name %s --type %s", name, want[name])
		}
	}
	return missing.String()
}
