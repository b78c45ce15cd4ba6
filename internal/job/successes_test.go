package job_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
)

// TestEvidenceOfPodsThatSucceeded is kept, and their logs are asked for, if the Job asks for it: of five of them, so that they push out
// no failure.
func TestEvidenceOfPodsThatSucceeded(t *testing.T) {
	for keeps, want := range map[bool][]string{false: {""}, true: {"", "Succeeded", "Succeeded", "Succeeded", "Succeeded", "Succeeded"}} {
		t.Run(fmt.Sprint(keeps), func(t *testing.T) {
			spec := specOf(8, 8)
			spec.KeepsSuccesses, spec.BackoffLimit = keeps, 0
			d := newDesk(t, spec)
			failed := d.end(1, corev1.PodFailed)
			failed.Container, failed.ExitCode, failed.Reason = "main", 3, "Error"
			facts := []job.PodFact{failed}
			for number := 2; number <= 8; number++ {
				facts = append(facts, d.end(number, corev1.PodSucceeded))
			}
			d.state = d.state.Observe(facts)
			d.ended()
			plan := d.decide()
			var ended []string
			for _, attempt := range plan.Next.Evidence {
				ended = append(ended, attempt.Ended)
			}
			assert.Equal(t, want, ended)
			assert.True(t, asksForLog(plan, uidOf(1)))
			assert.Equal(t, keeps, asksForLog(plan, uidOf(2)))
			assert.False(t, asksForLog(plan, uidOf(8)), "of five at most")
		})
	}
}

func TestWhichJobsKeepEvidenceOfSuccesses(t *testing.T) {
	for value, keeps := range map[string]bool{"": false, "true": true, "True": false, "false": false, "1": false} {
		object := &batchv1.Job{}
		object.Annotations = map[string]string{names.EvidenceSuccessesAnnotation: value}
		assert.Equal(t, keeps, job.SpecOf(object).KeepsSuccesses, value)
	}
}
