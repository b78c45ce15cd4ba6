package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
)

func TestCronJobsAreArmedWhenTheirNextTimeIsKnown(t *testing.T) {
	armed := newArmed(2)
	r := &recorder{observer: armed}
	see := func(object watch.Event, milliseconds int, want bool) {
		t.Helper()
		r.observe(object, at(milliseconds))
		done, err := armed.done()
		assert.NoError(t, err)
		assert.Equal(t, want, done, armed.state())
	}
	own := &ostinatov1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "own"}}
	native := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "native"}}
	see(watch.Event{Type: watch.Added, Object: own}, 10, false)
	see(watch.Event{Type: watch.Added, Object: native}, 20, false)
	own, native = own.DeepCopy(), native.DeepCopy()
	own.Status.NextScheduleTime = &metav1.Time{Time: start}
	native.Annotations = map[string]string{names.NextScheduleTimeAnnotation: "2026-01-02T03:05:00Z"}
	see(watch.Event{Type: watch.Modified, Object: own}, 30, false)
	assert.Equal(t, "1 of 2 CronJobs were taken over", armed.state())
	see(watch.Event{Type: watch.Deleted, Object: native}, 40, false)
	see(watch.Event{Type: watch.Modified, Object: native}, 50, true)
	see(watch.Event{Type: watch.Modified, Object: own}, 60, true)
	assert.Equal(t, at(50), armed.last(), "when the last one was, not when one was written again")
}
