package bridge

import (
	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/starts"
)

// No message holds a Pod template.

// cronJobMessages returns the start of a CronJob's workflow, which reads itself where it was, and the signal with the spec.
func (c *controller) cronJobMessages(cronJob *ostinatov1.CronJob, overdue bool) (starts.Start, Signal) {
	reference := protocol.ObjectReference{
		Namespace: cronJob.Namespace, Name: cronJob.Name, UID: string(cronJob.UID), Native: k8s.IsNative(cronJob),
	}
	spec := schedule.SpecOf(cronJob)
	input := protocol.CronJobInput{CronJob: reference, Spec: spec, SearchAttributes: c.SearchAttributes.AtStart, StatusAttributes: c.SearchAttributes.WithStatus}
	start := starts.CronJob(c.Config.Cluster, input)
	return start, Signal{protocol.CronJobSpecSignal, protocol.CronJobSpec{CronJob: reference, Spec: spec, Overdue: overdue}}
}

func (c *controller) jobMessages(object *batchv1.Job) (starts.Start, Signal) {
	input := starts.JobInput(object, c.Config.JobDefaults)
	start := starts.Job(c.Config.Cluster, input, c.SearchAttributes.AtStart)
	return start, Signal{protocol.JobSpecSignal, protocol.JobSpec{Input: input}}
}

// reference is what the CronJob's status says about its workflow.
func (c *controller) reference(cronJob *ostinatov1.CronJob) ostinatov1.WorkflowReference {
	return ostinatov1.WorkflowReference{Namespace: c.TemporalNamespace, ID: c.workflowID(cronJobKey(cronJob))}
}
