package job_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
)

// Annotations that can't be read are announced, each once.
func TestMistakesInAnnotations(t *testing.T) {
	var object batchv1.Job
	object.Annotations = map[string]string{
		names.PendingDeadlineAnnotation: "soon", names.EvidenceAnnotation: "none", names.AcceptSignalsAnnotation: "suspend,restart",
	}
	object.Spec.Template.Annotations = map[string]string{names.EvidenceAnnotation: "none", names.BackoffCapAnnotation: "-1"}
	mistakes := job.SpecOf(&object).Mistakes
	assert.Len(t, mistakes, 4, "%q", mistakes)
	for _, key := range []string{names.PendingDeadlineAnnotation, names.BackoffCapAnnotation, names.EvidenceAnnotation, names.AcceptSignalsAnnotation} {
		assert.Equal(t, 1, strings.Count(strings.Join(mistakes, " "), key), "%s in %q", key, mistakes)
	}
	object.Annotations = map[string]string{names.EvidenceAnnotation: "reason", names.AcceptSignalsAnnotation: "none"}
	object.Spec.Template.Annotations = map[string]string{names.EvidenceAnnotation: "full"}
	assert.Empty(t, job.SpecOf(&object).Mistakes)
}
