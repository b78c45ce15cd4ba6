package chaos

import (
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// The order in which the Jobs are given doesn't matter: a watch delivers them in any.
func TestOverlaps(t *testing.T) {
	const never = -1
	type run struct{ created, ended int }
	for name, test := range map[string]struct {
		runs []run
		want bool
	}{
		"no Job":                   {},
		"one Job that never ended": {runs: []run{{0, never}}},
		"one after the other":      {runs: []run{{0, 3}, {4, 5}, {9, never}}},
		"created in the second in which one ended": {runs: []run{{0, 3}, {3, 5}}},
		"two in a second, and one ended in it":     {runs: []run{{3, 3}, {3, 4}}},
		"two that came and went in a second":       {runs: []run{{3, 3}, {3, 3}}},
		"created before one ended":                 {runs: []run{{0, 3}, {2, 5}}, want: true},
		"created while one never ended":            {runs: []run{{0, never}, {2, 5}}, want: true},
		"two in a second, which both outlived":     {runs: []run{{3, 4}, {3, 5}}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			var jobs []*batchv1.Job
			for _, run := range test.runs {
				job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Unix(int64(run.created), 0)}}
				if run.ended != never {
					job.Status.CompletionTime = ptr.To(metav1.NewTime(time.Unix(int64(run.ended), 0)))
				}
				jobs = append(jobs, job)
			}
			for _, order := range []string{"oldest first", "youngest first"} {
				if err := overlaps(jobs); (err != nil) != test.want {
					t.Errorf("%s: %v", order, err)
				}
				slices.Reverse(jobs)
			}
		})
	}
}
