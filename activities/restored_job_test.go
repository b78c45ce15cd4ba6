package activities_test

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// TestARestoredStateForgetsNoPod: Temporal was restored to when Pods a and b ran. Since then a and another Pod had ended and were released,
// and c was made. The workflow counts a and c: its status counts as many Pods as the Job's own, and the other one would be lost. c, which
// keeps its finalizer and is not noted, is in no status yet.
func TestARestoredStateForgetsNoPod(t *testing.T) {
	for name, test := range map[string]struct {
		fate  job.Fate
		to    int32
		note  string
		edit  func(*batchv1.Job)
		stays bool
	}{
		"a success":                      {fate: job.PodSucceeded, to: 2},
		"a success, and all are counted": {fate: job.PodSucceeded, to: 3, stays: true},
		"a failure":                      {fate: job.PodFailed, to: 2},
		"a failure, one of an index":     {fate: job.PodFailed, to: 2, edit: func(owner *batchv1.Job) { owner.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion) }},
		"one that is noted":              {fate: job.PodSucceeded, to: 2, note: "c-uid", stays: true},
		"one that there was no room for": {fate: job.PodSucceeded, to: 2, note: strings.Repeat("x", 128<<10-20), stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			owner, phase := helloJob(), corev1.PodPhase(test.fate)
			owner.Spec.Completions = ptr.To[int32](5)
			status, own := batchv1.JobStatus{Active: 2}, &owner.Status
			if own.Active = 2; test.fate == job.PodFailed {
				own.Failed, status.Failed = 2, test.to
			} else {
				own.Succeeded, status.Succeeded = 2, test.to
			}
			if test.edit != nil {
				test.edit(owner)
			}
			if test.note != "" {
				owner.Annotations = map[string]string{names.CountedAnnotation: test.note}
			}
			s := asMade(t, owner, helloPod("a", phase).Released(), helloPod("c", phase))
			result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Status: &status, Counted: countedAs(test.fate, "a", "c")})
			if result.Unfounded == "" != test.stays || len(s.writes()) == 0 == test.stays {
				t.Errorf("unfounded %q, writes %v", result.Unfounded, s.writes())
			}
		})
	}
}
