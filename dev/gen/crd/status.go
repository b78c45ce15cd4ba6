package main

import (
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

// maxConditions is more than Ostinato writes: others may add theirs.
const maxConditions = 64

// status bounds the status by the lists and bounds that the activities judge it by.
func status() []amendment {
	outcomes := make([]any, 0, len(ledger.Outcomes))
	for _, outcome := range ledger.Outcomes {
		outcomes = append(outcomes, string(outcome))
	}
	results := make([]any, 0, len(ledger.Results))
	for _, result := range ledger.Results {
		results = append(results, string(result))
	}
	throughs := make([]any, 0, len(ledger.Throughs))
	for _, through := range ledger.Throughs {
		throughs = append(throughs, through)
	}
	reasons := make([]any, 0, len(ledger.Reasons))
	for _, reason := range ledger.Reasons {
		reasons = append(reasons, reason)
	}
	atMost := func(length int) map[string]any { return map[string]any{"maxLength": length} }
	list := []amendment{
		{at: "status.active", schema: map[string]any{"maxItems": schedule.MaxStatusActive}},
		{at: "status.recentRuns", schema: map[string]any{"maxItems": ledger.MaxRecentRuns}},
		{at: "status.conditions", schema: map[string]any{"maxItems": maxConditions}},
		{at: "status.lastOutcome", schema: enum(outcomes...)},
		{at: "status.lastResult", schema: map[string]any{"pattern": schedule.LastResultPattern}},
		{at: "status.next", schema: map[string]any{"pattern": schedule.NextPattern}},
		{at: "status.recentRuns[].outcome", schema: enum(outcomes...)},
		{at: "status.recentRuns[].reason", schema: enum(reasons...)},
		{at: "status.recentRuns[].result", schema: enum(results...)},
		{at: "status.recentRuns[].through", schema: enum(throughs...)},
		{at: "status.workflow.id", schema: atMost(schedule.MaxStatusWorkflowID)},
		{at: "status.workflow.namespace", schema: atMost(schedule.MaxStatusName)},
	}
	for _, field := range []string{"message", "resultReason", "by", "user", "changed"} {
		list = append(list, amendment{at: "status.recentRuns[]." + field, schema: atMost(schedule.MaxStatusText)})
	}
	list = append(list, amendment{at: "status.recentRuns[].jobName", schema: atMost(schedule.MaxStatusName)})
	for _, field := range []string{"apiVersion", "fieldPath", "kind", "resourceVersion", "uid"} {
		list = append(list, amendment{at: "status.active[]." + field, schema: atMost(schedule.MaxStatusUID)})
	}
	for _, field := range []string{"name", "namespace"} {
		list = append(list, amendment{at: "status.active[]." + field, schema: atMost(schedule.MaxStatusName)})
	}
	return list
}
