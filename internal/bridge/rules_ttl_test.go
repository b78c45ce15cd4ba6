package bridge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDecideTTL(t *testing.T) {
	// Complete at 20, failed at 30.
	for _, test := range []struct {
		name string
		job  *batchv1.Job
		now  int
		want ttlDecision
		err  string
	}{
		{name: "gone", now: 9999},
		{name: "without TTL it stays", job: standalone(complete), now: 9999},
		{name: "unfinished it stays", job: standalone(running, ttl(0)), now: 9999},
		{name: "complete: later", job: standalone(complete, ttl(100)), now: 50, want: ttlDecision{again: 70 * time.Second}},
		{name: "complete: over", job: standalone(complete, ttl(100)), now: 120, want: ttlDecision{expired: after(120)}},
		{name: "complete: long over", job: standalone(complete, ttl(100)), now: 500, want: ttlDecision{expired: after(120)}},
		{name: "failed: by the time of its own condition", job: standalone(failed, ttl(100)), now: 125, want: ttlDecision{again: 5 * time.Second}},
		{name: "TTL 0: at once", job: standalone(complete, ttl(0)), now: 20, want: ttlDecision{expired: after(20)}},
		{name: "another's Job too", job: standalone(managedBy("other.example/controller"), complete, ttl(0)), now: 20, want: ttlDecision{expired: after(20)}},
		{name: "being deleted: nothing", job: standalone(complete, ttl(0), func(j *batchv1.Job) { j.DeletionTimestamp = at(25) }), now: 9999},
		{name: "finished in the future: later", job: standalone(complete, ttl(0)), now: 15, want: ttlDecision{again: 5 * time.Second, skewed: true}},
		{name: "finished, nobody knows when", job: standalone(complete, ttl(0), func(j *batchv1.Job) {
			j.Status.Conditions[0].LastTransitionTime = metav1.Time{}
		}), now: 9999, err: "no lastTransitionTime"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := decideTTL(test.job, after(test.now))
			assert.Equal(t, test.want, got)
			if test.err == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, test.err)
			}
		})
	}
}
