package bridge

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

func TestNamesakeCondition(t *testing.T) {
	known := func(status metav1.ConditionStatus, reason, message string) func(*ostinatov1.CronJob) {
		return func(c *ostinatov1.CronJob) {
			c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{
				Type: ostinatov1.ConditionNativeCronJobActive, Status: status, Reason: reason, Message: message, LastTransitionTime: *at(1),
			})
		}
	}
	const advice = "A batch/v1 CronJob of the same name is active, so the work may run twice: " +
		"delete it (kubectl -n shop delete cronjobs.batch report --cascade=orphan, which leaves its Jobs) or suspend it"
	suspended := func(c *ostinatov1.CronJob) { c.Spec.Suspend = ptr.To(true) }
	deleting := func(c *ostinatov1.CronJob) { c.DeletionTimestamp = at(5) }
	for name, test := range map[string]struct {
		cronJob, native *ostinatov1.CronJob
		status          metav1.ConditionStatus
		reason          string
		write           bool
		since           int
	}{
		"never had one":                 {cronJob(), nil, metav1.ConditionFalse, namesakeGoneReason, false, 20},
		"has a suspended one":           {cronJob(), cronJob(suspended), metav1.ConditionFalse, namesakeSuspendedReason, false, 20},
		"has an active one":             {cronJob(), cronJob(), metav1.ConditionTrue, namesakeActiveReason, true, 20},
		"has one that is being deleted": {cronJob(), cronJob(deleting), metav1.ConditionFalse, namesakeGoneReason, false, 20},
		"is known to have an active one": {
			cronJob(known(metav1.ConditionTrue, namesakeActiveReason, advice)), cronJob(), metav1.ConditionTrue, namesakeActiveReason, false, 1,
		},
		"another text of that": {
			cronJob(known(metav1.ConditionTrue, namesakeActiveReason, "old words")), cronJob(), metav1.ConditionTrue, namesakeActiveReason, true, 1,
		},
		"it was suspended": {
			cronJob(known(metav1.ConditionTrue, namesakeActiveReason, advice)), cronJob(suspended), metav1.ConditionFalse, namesakeSuspendedReason, true, 20,
		},
		"it was deleted": {
			cronJob(known(metav1.ConditionTrue, namesakeActiveReason, advice)), nil, metav1.ConditionFalse, namesakeGoneReason, true, 20,
		},
		"it was suspended, then deleted": {
			cronJob(known(metav1.ConditionFalse, namesakeSuspendedReason, "")), nil, metav1.ConditionFalse, namesakeGoneReason, true, 1,
		},
		"it is there again": {
			cronJob(known(metav1.ConditionFalse, namesakeGoneReason, "")), cronJob(), metav1.ConditionTrue, namesakeActiveReason, true, 20,
		},
	} {
		t.Run(name, func(t *testing.T) {
			condition, write := namesakeCondition(test.cronJob, test.native, after(20))
			assert.Equal(t, []any{test.status, test.reason, test.write}, []any{condition.Status, condition.Reason, write})
			assert.Equal(t, after(test.since), condition.LastTransitionTime.UTC())
			if condition.Status == metav1.ConditionTrue {
				assert.Equal(t, advice, condition.Message)
			}
		})
	}
}

// nativeActive returns the status of the condition as it is stored, "" where there is none.
func (w *world) nativeActive() metav1.ConditionStatus {
	return namesakeNoted(w.cronJobs.Stored("shop", "report"))
}

func TestANamesakeIsWarnedOf(t *testing.T) {
	for name, takeOver := range map[string]bool{"that the built-in controller runs": false, "that is taken over": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, cronJob(taken), native(nativeTaken))
			if takeOver {
				w.takingOverCronJobs()
			}
			w.lead()
			w.eventually(func() bool { return w.nativeActive() == metav1.ConditionTrue }, "the condition is True")
			w.eventually(func() bool { return len(w.events.Events) > 0 }, "an Event")
			assert.True(t, strings.HasPrefix(<-w.events.Events, "Warning NativeCronJobActive A batch/v1 CronJob of the same name is active"))

			w.putNative(native(nativeTaken, func(n *batchv1.CronJob) { n.Spec.Suspend = ptr.To(true) }))
			w.eventually(func() bool { return w.nativeActive() == metav1.ConditionFalse }, "the condition is False")
			w.putNative(native(nativeTaken))
			w.eventually(func() bool { return w.nativeActive() == metav1.ConditionTrue }, "the condition is True again")
			require.NoError(t, w.native.BatchV1().CronJobs("shop").Delete(t.Context(), "report", metav1.DeleteOptions{}))
			w.eventually(func() bool { return w.nativeActive() == metav1.ConditionFalse }, "the condition is False again")
		})
	}
}

func TestACronJobWithoutANamesakeIsLeftAlone(t *testing.T) {
	w := newWorld(t, cronJob(taken), native(func(n *batchv1.CronJob) { n.Name = "other" })).lead()
	w.eventually(func() bool {
		_, known := w.objects.namesake(cronJobKey(cronJob()).NamespacedName)
		return known
	}, "the batch/v1 CronJobs are known")
	w.put(cronJob(generation(2)))
	w.eventually(func() bool { return len(w.temporal.said()) > 0 }, "the CronJob was looked at")
	assert.Empty(t, w.nativeActive())
	assert.Empty(t, w.events.Events)
}

// A bridge whose account lacks the right to list batch/v1 CronJobs serves ours all the same.
func TestNothingWaitsForNamesakes(t *testing.T) {
	w := newWorld(t, cronJob())
	w.native.PrependReactor("list", "cronjobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("forbidden")
	})
	w.lead()
	w.eventually(func() bool { return len(w.temporal.said()) > 0 }, "the CronJob is served")
	assert.Empty(t, w.nativeActive())
}

func TestAConditionThatCanNotBeWrittenIsTriedAgain(t *testing.T) {
	w := newWorld(t, cronJob(taken), native())
	var refused atomic.Bool
	refused.Store(true)
	w.cronJobs.PrependReactor("patch", "cronjobs", refuseWhen(&refused))
	w.lead()
	w.eventually(func() bool { return w.said("will be repeated") > 0 }, "the failure is logged")
	assert.Empty(t, w.events.Events)
	refused.Store(false)
	w.eventually(func() bool {
		w.clock.Step(lastRetry)
		return w.nativeActive() == metav1.ConditionTrue
	}, "the condition is True")
}
