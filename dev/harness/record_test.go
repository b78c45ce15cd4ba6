package harness

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// outages is an API server that can be away: it ends its watches and refuses requests.
type outages struct {
	*fake.Clientset
	mutex sync.Mutex
	down  bool
	open  []watch.Interface
}

var errRefused = fmt.Errorf("dial: %w", syscall.ECONNREFUSED)

func newOutages() *outages {
	api := &outages{Clientset: fake.NewClientset()}
	api.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		api.mutex.Lock()
		defer api.mutex.Unlock()
		return api.down, nil, errRefused
	})
	api.PrependWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		api.mutex.Lock()
		defer api.mutex.Unlock()
		if api.down {
			return true, nil, errRefused
		}
		opened, err := api.Tracker().Watch(action.GetResource(), action.GetNamespace())
		if err == nil {
			api.open = append(api.open, opened)
		}
		return true, opened, err
	})
	return api
}

func (o *outages) begin() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.down = true
	for _, opened := range o.open {
		opened.Stop()
	}
	o.open = nil
}

func (o *outages) end() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.down = false
}

func podOf(job, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "test", Name: name, UID: types.UID(name), Labels: map[string]string{batchv1.JobNameLabel: job},
	}}
}

// An outage of the API server, however long, puts a record less than a second behind.
func TestARecordIsThereWhenTheAPIServerIs(t *testing.T) {
	// The handler that slows errors down keeps the time of the last over all tests, and each test has its own clock.
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = nil
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers })
	for _, outage := range []time.Duration{1100 * time.Millisecond, 30 * time.Second, 10 * time.Minute} {
		t.Run(outage.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := newOutages()
				record := (&Harness{Kubernetes: api}).Record(t, "test")
				synctest.Wait()
				api.begin()
				time.Sleep(outage)
				for n := range 3 {
					if err := api.Tracker().Add(podOf("hello", fmt.Sprintf("hello-%d", n))); err != nil {
						t.Fatal(err)
					}
				}
				api.end()
				time.Sleep(time.Second)
				synctest.Wait()
				if seen := record.Pods("hello"); len(seen) != 3 {
					t.Errorf("%d of 3 Pods were seen a second after the outage", len(seen))
				}
			})
		})
	}
}
