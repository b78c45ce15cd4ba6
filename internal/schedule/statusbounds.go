package schedule

import (
	"encoding/json"
	"fmt"
	"slices"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// Bounds of a status that is written. etcd keeps every version of it for minutes.
const (
	// maxStatus bounds its JSON without active, and maxActive that of active, in bytes.
	maxStatus, maxActive = 64 << 10, 300 << 10
	// MaxStatusActive bounds active: of more runs that are active the status names the ones
	// that started last.
	MaxStatusActive = 1000
	// MaxStatusText bounds a text in it, in bytes.
	MaxStatusText = 1024
	// MaxStatusUID bounds a UID and a resourceVersion, in bytes: those that the API server
	// makes are no longer.
	MaxStatusUID = 36
	// MaxStatusName bounds the name of an object, MaxStatusWorkflowID the ID of a workflow, in
	// bytes.
	MaxStatusName       = 253
	MaxStatusWorkflowID = 1000
)

// BridgeConditionTypes are those that the bridge writes to CronJobs.
var BridgeConditionTypes = []string{ostinatov1.ConditionNativeCronJobActive, ostinatov1.ConditionWorkflowPaused}

// ValidateStatus reports whether a status can be one that a plan writes for a CronJob of the
// namespace, by what it consists of and how large it is: anybody who may write to Temporal
// may have asked for it. It does not say whether the status is true.
func ValidateStatus(status ostinatov1.CronJobStatus, namespace string) error {
	if len(status.Active) > MaxStatusActive {
		return fmt.Errorf("status: %d active Jobs, want %d at most", len(status.Active), MaxStatusActive)
	}
	for _, run := range status.Active {
		if run.Kind != "Job" || run.Namespace != namespace || run.FieldPath != "" || run.APIVersion != "batch/v1" ||
			len(run.ResourceVersion) > MaxStatusUID || len(run.UID) > MaxStatusUID || len(apivalidation.NameIsDNSSubdomain(run.Name, false)) > 0 {
			return fmt.Errorf("status: active names %s %.70q in namespace %.70q, which is no Job of the CronJob", run.Kind, run.Name, run.Namespace)
		}
	}
	if status.LastOutcome != "" && !slices.Contains(Outcomes, LedgerOutcome(status.LastOutcome)) {
		return fmt.Errorf("status: lastOutcome is %.64q, want one of %v", status.LastOutcome, Outcomes)
	}
	if err := validateSummary(status); err != nil {
		return err
	}
	if len(status.RecentRuns) > MaxRecentRuns {
		return fmt.Errorf("status: %d recent runs, want %d at most", len(status.RecentRuns), MaxRecentRuns)
	}
	for _, row := range status.RecentRuns {
		if !slices.Contains(Outcomes, LedgerOutcome(row.Outcome)) {
			return fmt.Errorf("status: a recent run has the outcome %.64q, want one of %v", row.Outcome, Outcomes)
		}
		if row.Result != "" && !slices.Contains(RunResults, RunResult(row.Result)) {
			return fmt.Errorf("status: a recent run has the result %.64q, want one of %v", row.Result, RunResults)
		}
		if row.Reason != "" && !slices.Contains(LedgerReasons, row.Reason) {
			return fmt.Errorf("status: a recent run has the reason %.64q, want one of %v", row.Reason, LedgerReasons)
		}
		if row.Through != "" && !slices.Contains(Throughs, row.Through) {
			return fmt.Errorf("status: a recent run was asked for through %.64q, want one of %v", row.Through, Throughs)
		}
		if longest := max(len(row.Message), len(row.ResultReason), len(row.By), len(row.Changed)); longest > MaxStatusText {
			return fmt.Errorf("status: a recent run has a text of %d bytes, want %d at most", longest, MaxStatusText)
		}
		if len(row.JobName) > MaxStatusName {
			return fmt.Errorf("status: a recent run has a Job's name of %d bytes, want %d at most", len(row.JobName), MaxStatusName)
		}
	}
	if len(status.Conditions) > len(ConditionTypes) {
		return fmt.Errorf("status: %d conditions, want %d at most", len(status.Conditions), len(ConditionTypes))
	}
	for _, condition := range status.Conditions {
		if !slices.Contains(ConditionTypes, condition.Type) {
			return fmt.Errorf("status: a condition of type %.64q, want one of %v", condition.Type, ConditionTypes)
		}
		if !slices.Contains(ConditionReasons, condition.Reason) {
			return fmt.Errorf("status: the condition %s has the reason %.64q, want one of %v", condition.Type, condition.Reason, ConditionReasons)
		}
		if len(condition.Message) > MaxStatusText {
			return fmt.Errorf("status: the condition %s has a message of %d bytes, want %d at most", condition.Type, len(condition.Message), MaxStatusText)
		}
	}
	if workflow := status.Workflow; workflow != nil && (len(workflow.ID) > MaxStatusWorkflowID || len(workflow.Namespace) > MaxStatusName) {
		return fmt.Errorf("status: a workflow with an ID of %d bytes in a namespace of %d, want %d and %d at most",
			len(workflow.ID), len(workflow.Namespace), MaxStatusWorkflowID, MaxStatusName)
	}
	if err := within(status.Active, maxActive); err != nil {
		return fmt.Errorf("status: active: %w", err)
	}
	status.Active = nil
	if err := within(status, maxStatus); err != nil {
		return fmt.Errorf("status: %w", err)
	}
	return nil
}

// within reports whether the JSON of a value has this many bytes at most.
func within(value any, limit int) error {
	data, err := json.Marshal(value)
	if err == nil && len(data) > limit {
		err = fmt.Errorf("%d bytes, want %d at most", len(data), limit)
	}
	return err
}
