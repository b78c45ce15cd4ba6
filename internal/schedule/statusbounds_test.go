package schedule_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

func TestStatusesThatNoPlanWrites(t *testing.T) {
	long := strings.Repeat("x", 1025)
	runs := func(count int, change func(*corev1.ObjectReference)) ostinatov1.CronJobStatus {
		active := make([]corev1.ObjectReference, count)
		for i := range active {
			active[i] = corev1.ObjectReference{Kind: "Job", APIVersion: "batch/v1", Namespace: "ns", Name: "hello-1", UID: "uid"}
			change(&active[i])
		}
		return ostinatov1.CronJobStatus{Active: active}
	}
	as := func(*corev1.ObjectReference) {}
	rows := func(rows ...ostinatov1.RecentRun) ostinatov1.CronJobStatus {
		return ostinatov1.CronJobStatus{RecentRuns: rows}
	}
	for name, test := range map[string]struct {
		status ostinatov1.CronJobStatus
		want   string
	}{
		"nothing":                    {},
		"a thousand runs":            {status: runs(1000, as)},
		"an outcome":                 {status: ostinatov1.CronJobStatus{LastOutcome: string(ledger.Started), RecentRuns: []ostinatov1.RecentRun{{Outcome: string(ledger.Started)}}}},
		"more runs":                  {runs(1001, as), "1001 active Jobs, want 1000 at most"},
		"a run elsewhere":            {runs(1, func(r *corev1.ObjectReference) { r.Namespace = "other" }), "no Job of the CronJob"},
		"a run that is no Job":       {runs(1, func(r *corev1.ObjectReference) { r.Kind = "Pod" }), "no Job of the CronJob"},
		"a run with a long name":     {runs(1, func(r *corev1.ObjectReference) { r.Name = long }), "no Job of the CronJob"},
		"a run with a long uid":      {runs(1, func(r *corev1.ObjectReference) { r.UID = types.UID(long) }), "no Job of the CronJob"},
		"an outcome that is none":    {ostinatov1.CronJobStatus{LastOutcome: "Evil"}, `lastOutcome is "Evil"`},
		"a negative count":           {ostinatov1.CronJobStatus{ActiveCount: -1}, "activeCount is -1"},
		"a last result":              {status: ostinatov1.CronJobStatus{LastResult: "Failed x12"}},
		"a last result that is none": {ostinatov1.CronJobStatus{LastResult: "Complete x2"}, `lastResult is "Complete x2"`},
		"a next time":                {status: ostinatov1.CronJobStatus{Next: "2026-01-02T03:04:05Z"}},
		"a word for next":            {status: ostinatov1.CronJobStatus{Next: "NeverFires"}},
		"a next that is neither":     {ostinatov1.CronJobStatus{Next: "tomorrow"}, `next is "tomorrow"`},
		"many rows":                  {rows(make([]ostinatov1.RecentRun, 11)...), "11 recent runs, want 10 at most"},
		"a row without an outcome":   {rows(ostinatov1.RecentRun{}), "a recent run has the outcome"},
		"a row with a long message":  {rows(ostinatov1.RecentRun{Outcome: "Started", Message: long}), "a text of 1025 bytes"},
		"a row with another reason":  {rows(ostinatov1.RecentRun{Outcome: "Started", Reason: "Evil"}), `the reason "Evil"`},
		"a row with a long result":   {rows(ostinatov1.RecentRun{Outcome: "Started", ResultReason: long}), "a text of 1025 bytes"},
		"a result that is none":      {rows(ostinatov1.RecentRun{Outcome: "Started", Result: "Evil"}), `the result "Evil", want one of [Complete Failed Deleted]`},
		"a row through what is none": {rows(ostinatov1.RecentRun{Outcome: "Started", Through: "Evil"}), `through "Evil", want one of [signal update job]`},
		"a row by a long name":       {rows(ostinatov1.RecentRun{Outcome: "Started", By: long}), "a text of 1025 bytes"},
		"a row with long changes":    {rows(ostinatov1.RecentRun{Outcome: "Started", Changed: long}), "a text of 1025 bytes"},
		"a row with a long name":     {rows(ostinatov1.RecentRun{Outcome: "Started", JobName: long}), "a Job's name of 1025 bytes"},
		"rows that JSON makes long":  {rows(slices.Repeat([]ostinatov1.RecentRun{{Outcome: "Started", Message: strings.Repeat("\x01", 1024), ResultReason: strings.Repeat("\x01", 1024)}}, 10)...), "want 65536 at most"},
		"a long workflow ID":         {ostinatov1.CronJobStatus{Workflow: &ostinatov1.WorkflowReference{ID: long}}, "a workflow with an ID of 1025 bytes"},
		"a long Temporal namespace":  {ostinatov1.CronJobStatus{Workflow: &ostinatov1.WorkflowReference{ID: "x", Namespace: long}}, "in a namespace of 1025"},
		"a condition of another":     {ostinatov1.CronJobStatus{Conditions: []metav1.Condition{{Type: "Evil"}}}, `a condition of type "Evil"`},
		"a reason that is none":      {ostinatov1.CronJobStatus{Conditions: []metav1.Condition{{Type: "Suspended", Reason: "Evil"}}}, `the reason "Evil"`},
		"a long condition":           {ostinatov1.CronJobStatus{Conditions: []metav1.Condition{{Type: "Suspended", Reason: "Suspended", Message: long}}}, "message of 1025 bytes"},
		"many conditions":            {ostinatov1.CronJobStatus{Conditions: make([]metav1.Condition, 7)}, "7 conditions, want 6 at most"},
	} {
		t.Run(name, func(t *testing.T) {
			err := schedule.ValidateStatus(test.status, "ns")
			if test.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, test.want)
		})
	}
}

// TestTheStatusNamesTheRunsThatStartedLast, where there are more than it may hold.
func TestTheStatusNamesTheRunsThatStartedLast(t *testing.T) {
	var state schedule.State
	state.Namespace = "ns"
	for range 1001 {
		state.Active = append(state.Active, schedule.Run{Name: "earlier", UID: "a"})
	}
	state.Active = append(state.Active, schedule.Run{Name: "latest", UID: "b"})
	status := schedule.StatusOf(state, schedule.Spec{})
	assert.Len(t, status.Active, 1000)
	assert.Equal(t, "latest", status.Active[999].Name)
	assert.NoError(t, schedule.ValidateStatus(status, "ns"))
	started := schedule.StatusStarted(status, schedule.Run{Name: "next", UID: "c"}, "ns")
	assert.Len(t, started.Active, 1000)
	assert.Equal(t, "next", started.Active[999].Name)
}
