package harness

import (
	"context"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
)

// watchRetry is how long the harness's own watches wait before they look again for an API server that was away. An
// informer would wait up to ReflectorRetry, and a test would wait for the informer instead of what it tests.
const watchRetry = 500 * time.Millisecond

// FollowPods calls see with every Pod of a namespace, those that exist before it returns, and again whenever one changes
// or, with gone, has been deleted; one call at a time, until the test ends. It goes on over an outage of the API server.
func (h *Harness) FollowPods(t *testing.T, namespace string, see func(pod *corev1.Pod, gone bool)) {
	t.Helper()
	pods := h.Kubernetes.CoreV1().Pods(namespace)
	follow(t, h, namespace, pods.List, pods.Watch, see)
}

// FollowJobs is FollowPods for Jobs.
func (h *Harness) FollowJobs(t *testing.T, namespace string, see func(job *batchv1.Job, gone bool)) {
	t.Helper()
	jobs := h.Kubernetes.BatchV1().Jobs(namespace)
	follow(t, h, namespace, jobs.List, jobs.Watch, see)
}

func follow[List runtime.Object, Object metav1.Object](t *testing.T, h *Harness, namespace string,
	list func(context.Context, metav1.ListOptions) (List, error),
	open func(context.Context, metav1.ListOptions) (watch.Interface, error),
	see func(object Object, gone bool),
) {
	t.Helper()
	follower := &follower[Object]{see: see, known: map[types.UID]Object{}, synced: make(chan struct{})}
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return list(ctx, options)
		},
		WatchFuncWithContext: open,
	}, h.Kubernetes)
	var example Object
	reflector := cache.NewReflectorWithOptions(source, example, follower, cache.ReflectorOptions{
		Name: t.Name(), Backoff: &wait.Backoff{Duration: watchRetry},
	})
	// What goes wrong meanwhile is the test's to tell, should it fail.
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), ktesting.NewLogger(t, ktesting.NewConfig())))
	var running sync.WaitGroup
	running.Go(func() { reflector.RunWithContext(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	select {
	case <-follower.synced:
	case <-time.After(Prompt):
		t.Fatalf("watch namespace %s: the first list of %T is not complete within %s", namespace, example, Prompt)
	}
}

// follower is the store of a reflector: it passes on what changes.
type follower[Object metav1.Object] struct {
	see    func(object Object, gone bool)
	known  map[types.UID]Object
	once   sync.Once
	synced chan struct{}
}

// Add passes an object on.
func (f *follower[Object]) Add(object any) error {
	seen, ok := object.(Object)
	if ok {
		f.known[seen.GetUID()] = seen
		f.see(seen, false)
	}
	return nil
}

// Update passes an object on.
func (f *follower[Object]) Update(object any) error { return f.Add(object) }

// Delete passes on that an object is gone.
func (f *follower[Object]) Delete(object any) error {
	seen, ok := object.(Object)
	if ok {
		delete(f.known, seen.GetUID())
		f.see(seen, true)
	}
	return nil
}

// Replace passes on a list: all that is in it, and as gone what was known and is not in it.
func (f *follower[Object]) Replace(list []any, _ string) error {
	before := f.known
	f.known = map[types.UID]Object{}
	for _, object := range list {
		if seen, ok := object.(Object); ok {
			delete(before, seen.GetUID())
		}
	}
	for _, object := range before {
		f.see(object, true)
	}
	for _, object := range list {
		if err := f.Add(object); err != nil {
			return err
		}
	}
	f.once.Do(func() { close(f.synced) })
	return nil
}

// Resync has nothing to do: nothing is kept back.
func (f *follower[Object]) Resync() error { return nil }
