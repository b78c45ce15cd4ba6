package main

import (
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/schedule"
)

// Bounds of names and IDs in a status, in characters.
const (
	maxName       = 253
	maxWorkflowID = 1000
	maxConditions = 16
)

// status bounds the status by the lists and bounds that the activities judge it by.
func status() []amendment {
	outcomes := make([]any, 0, len(schedule.Outcomes))
	for _, outcome := range schedule.Outcomes {
		outcomes = append(outcomes, string(outcome))
	}
	atMost := func(length int) map[string]any { return map[string]any{"maxLength": length} }
	list := []amendment{
		{at: "status.active", schema: map[string]any{"maxItems": schedule.MaxStatusActive}},
		{at: "status.recentRuns", schema: map[string]any{"maxItems": schedule.MaxRecentRuns}},
		{at: "status.conditions", schema: map[string]any{"maxItems": maxConditions}},
		{at: "status.lastOutcome", schema: enum(outcomes...)},
		{at: "status.recentRuns[].outcome", schema: enum(outcomes...)},
		{at: "status.recentRuns[].result", schema: enum(string(job.Complete), string(job.Failed), string(job.Deleted))},
		{at: "status.workflow.id", schema: atMost(maxWorkflowID)},
		{at: "status.workflow.namespace", schema: atMost(maxName)},
	}
	for _, field := range []string{"reason", "message", "resultReason"} {
		list = append(list, amendment{at: "status.recentRuns[]." + field, schema: atMost(schedule.MaxStatusText)})
	}
	list = append(list, amendment{at: "status.recentRuns[].jobName", schema: atMost(maxName)})
	for _, field := range []string{"apiVersion", "fieldPath", "kind", "resourceVersion", "uid"} {
		list = append(list, amendment{at: "status.active[]." + field, schema: atMost(schedule.MaxStatusUID)})
	}
	for _, field := range []string{"name", "namespace"} {
		list = append(list, amendment{at: "status.active[]." + field, schema: atMost(maxName)})
	}
	return list
}
