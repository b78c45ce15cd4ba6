package schedule

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
)

// Bounds of a status that is written. etcd keeps every version of it for minutes.
const (
	// maxStatus bounds its JSON without active, and maxActive that of active, in bytes.
	maxStatus, maxActive = 64 << 10, 300 << 10
	// MaxStatusActive bounds active: of more runs that are active the status names the ones that started last.
	MaxStatusActive = 1000
	// MaxStatusText bounds a text in it, in bytes.
	MaxStatusText = 1024
	// MaxStatusUID bounds a UID and a resourceVersion, in bytes: those that the API server makes are no longer.
	MaxStatusUID = 36
	// MaxStatusName bounds the name of an object, MaxStatusWorkflowID the ID of a workflow, in bytes.
	MaxStatusName       = 253
	MaxStatusWorkflowID = 1000
)

// BridgeConditionTypes are those that the bridge writes to CronJobs.
var BridgeConditionTypes = []string{ostinatov1.ConditionNativeCronJobActive, ostinatov1.ConditionWorkflowPaused}

// ValidateStatus reports whether a status, which may be forged, has the form and size of one that a plan writes for a
// CronJob of the namespace. It does not say whether the status is true.
func ValidateStatus(status ostinatov1.CronJobStatus, namespace string) error {
	if err := atMost("%d active Jobs", len(status.Active), MaxStatusActive); err != nil {
		return err
	}
	for _, run := range status.Active {
		if run.Kind != "Job" || run.Namespace != namespace || run.FieldPath != "" || run.APIVersion != "batch/v1" ||
			len(run.ResourceVersion) > MaxStatusUID || len(run.UID) > MaxStatusUID || len(apivalidation.NameIsDNSSubdomain(run.Name, false)) > 0 {
			return fmt.Errorf("status: active names %s %.70q in namespace %.70q, which is no Job of the CronJob", run.Kind, run.Name, run.Namespace)
		}
	}
	switch {
	case status.ActiveCount < 0:
		return fmt.Errorf("status: activeCount is %d, want 0 or more", status.ActiveCount)
	case status.LastResult != "" && !lastResultPattern.MatchString(status.LastResult):
		return fmt.Errorf("status: lastResult is %.64q, want a match of %s", status.LastResult, LastResultPattern)
	case status.Next != "" && !nextPattern.MatchString(status.Next):
		return fmt.Errorf("status: next is %.64q, want a match of %s", status.Next, NextPattern)
	}
	if err := cmp.Or(
		noneOr("lastOutcome is", status.LastOutcome, ledger.Outcomes),
		atMost("%d recent runs", len(status.RecentRuns), ledger.MaxRecentRuns),
		atMost("%d conditions", len(status.Conditions), len(ConditionTypes)),
	); err != nil {
		return err
	}
	for _, row := range status.RecentRuns {
		if err := cmp.Or(
			oneOf("a recent run has the outcome", row.Outcome, ledger.Outcomes),
			noneOr("a recent run has the result", row.Result, ledger.Results),
			noneOr("a recent run has the reason", row.Reason, ledger.Reasons),
			noneOr("a recent run was asked for through", row.Through, ledger.Throughs),
			atMost("a recent run has a text of %d bytes", max(len(row.Message), len(row.ResultReason), len(row.By), len(row.Changed)), MaxStatusText),
			atMost("a recent run has a Job's name of %d bytes", len(row.JobName), MaxStatusName),
		); err != nil {
			return err
		}
	}
	for _, condition := range status.Conditions {
		if err := cmp.Or(
			oneOf("a condition of type", condition.Type, ConditionTypes),
			oneOf("the condition "+condition.Type+" has the reason", condition.Reason, ConditionReasons),
			atMost("the condition "+condition.Type+" has a message of %d bytes", len(condition.Message), MaxStatusText),
		); err != nil {
			return err
		}
	}
	if workflow := status.Workflow; workflow != nil && (len(workflow.ID) > MaxStatusWorkflowID || len(workflow.Namespace) > MaxStatusName) {
		return fmt.Errorf("status: a workflow with an ID of %d bytes in a namespace of %d, want %d and %d at most",
			len(workflow.ID), len(workflow.Namespace), MaxStatusWorkflowID, MaxStatusName)
	}
	if err := within("active: ", status.Active, maxActive); err != nil {
		return err
	}
	status.Active = nil
	return within("", status, maxStatus)
}

// oneOf reports whether a text is among those that are known, and noneOr whether it is empty or among them.
func oneOf[Text ~string](what, text string, known []Text) error {
	if slices.Contains(known, Text(text)) {
		return nil
	}
	return fmt.Errorf("status: %s %.64q, want one of %v", what, text, known)
}

func noneOr[Text ~string](what, text string, known []Text) error {
	if text == "" {
		return nil
	}
	return oneOf(what, text, known)
}

// atMost reports whether a count is within its bound; what is the format that names it.
func atMost(what string, count, bound int) error {
	if count <= bound {
		return nil
	}
	return fmt.Errorf("status: "+what+", want %d at most", count, bound)
}

// within reports whether the JSON of a value has this many bytes at most.
func within(what string, value any, bound int) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("status: %s%w", what, err)
	}
	return atMost(what+"%d bytes", len(data), bound)
}
