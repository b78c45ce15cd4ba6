package bridge

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// cronJobResources is what discovery says where the CRD is installed.
func cronJobResources() *metav1.APIResourceList {
	return &metav1.APIResourceList{
		GroupVersion: ostinatov1.GroupVersion.String(),
		APIResources: []metav1.APIResource{{Name: "cronjobs", Namespaced: true, Kind: ostinatov1.CronJobKind.Kind}},
	}
}

// install makes the API server serve this of batch.ostinato.dev; nil is nothing.
func (w *world) install(resources *metav1.APIResourceList) { w.resources.Store(resources) }

// discover has the fake clientset answer what is installed at the time.
func (w *world) discover(clienttesting.Action) (bool, runtime.Object, error) {
	w.native.Resources = nil
	if resources := w.resources.Load(); resources != nil {
		w.native.Resources = []*metav1.APIResourceList{resources}
	}
	return false, nil, nil
}

func TestWithoutTheCRDJobsAreServed(t *testing.T) {
	w := newWorld(t, standalone(missed))
	w.install(nil)
	w.temporal.running[cronJobID], w.temporal.running["job/shop/left"] = "c1", "j9"
	w.lead().hears("start "+jobID, "signal job/shop/left deleted j9")
	assert.Zero(t, w.measured("ostinato_bridge_cronjobs_served"))

	w.clock.Step(kindPoll)
	w.putJob(standalone(edited))
	w.hears("signal-with-start " + jobID + " job-spec j1 generation 2 deleting false")
	assert.Equal(t, 1, w.said("CronJobs are not served"), "said once")
}

func TestTheCRDIsTakenUpWhenItAppears(t *testing.T) {
	w := newWorld(t, cronJob())
	w.install(nil)
	w.temporal.running["cronjob/shop/gone"] = "c9"
	w.lead().hears()
	// The group comes before its kind.
	w.install(&metav1.APIResourceList{GroupVersion: ostinatov1.GroupVersion.String()})
	w.clock.Step(kindPoll)
	w.hears()

	w.install(cronJobResources())
	w.hearsInTime("signal-with-start "+cronJobID+" cronjob-spec c1 generation 1 overdue false", "signal cronjob/shop/gone deleted c9")
	w.eventually(func() bool { return w.measured("ostinato_bridge_cronjobs_served") == 1 }, "the metric says so")
	assert.Equal(t, 1, w.said("CronJobs are served"))
}

// Where nobody answers, nothing is known: the bridge is not ready, and asks again.
// Where the question is not allowed, the CRD is taken as installed.
func TestDiscoveryThatFails(t *testing.T) {
	for name, failure := range map[string]error{
		"is repeated after an outage": errors.New("connection refused"),
		"is not needed":               apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no")),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, cronJob())
			failures := 2
			w.native.PrependReactor("get", "resource", func(clienttesting.Action) (bool, runtime.Object, error) {
				failures--
				return failures >= 0, nil, failure
			})
			b := w.bridge()
			assert.Error(t, b.Ready(t.Context()))
			w.begin(b)
			w.hearsInTime("signal-with-start " + cronJobID + " cronjob-spec c1 generation 1 overdue false")
			assert.NoError(t, b.Ready(t.Context()))
			assert.NotContains(t, w.log.String(), "are not served")
		})
	}
}
