package bridge

import (
	"errors"
	"sync/atomic"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// One of the namespaces was deleted, and its RoleBinding with it, or has no RoleBinding yet.
func TestANamespaceThatCannotBeListedHoldsUpNoOther(t *testing.T) {
	inBilling := func(j *batchv1.Job) { j.Namespace = "billing" }
	w := newWorld(t, cronJob(taken), standalone(missed),
		cronJob(named("billing", "report"), taken, active("j3")), run("j3", running, inBilling), standalone(missed, inBilling))
	w.settings.Namespaces = []string{"shop", "billing"}
	w.temporal.running["job/shop/gone"], w.temporal.running["job/billing/gone"] = "j8", "j9"
	var allowed atomic.Bool
	w.native.PrependReactor("list", "jobs", func(action clienttesting.Action) (bool, runtime.Object, error) {
		forbidden := action.GetNamespace() == "billing" && !allowed.Load()
		return forbidden, nil, apierrors.NewForbidden(batchv1.Resource("jobs"), "", errors.New("no role in billing"))
	})
	w.lead().hears("start "+jobID, "start "+cronJobID, "signal job/shop/gone deleted j8")
	w.clock.Step(watchdogPeriod)
	w.eventually(func() bool { return w.said("namespaces=[billing]") == 1 }, "it is said which namespace is not served")
	w.clock.Step(nextTimesPeriod)
	w.hears() // The CronJob's run is not taken for gone.

	allowed.Store(true)
	w.hears("start cronjob/billing/report", "start job/billing/report-j3", "start job/billing/import", "signal job/billing/gone deleted j9")
}
