package k8s_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

func TestShardsCoverEveryBucketOnce(t *testing.T) {
	for shards := 1; shards <= names.WatchBuckets; shards++ {
		for bucket := range names.WatchBuckets {
			var reporting int
			for shard := range shards {
				selector, err := k8s.ShardSelector(shard, shards)
				if err != nil {
					t.Fatalf("shard %d of %d: %v", shard, shards, err)
				}
				if selector.Matches(labels.Set{names.WatchBucketLabel: strconv.Itoa(bucket)}) {
					reporting++
				}
				if selector.Matches(labels.Set{"app": "other"}) {
					t.Errorf("shard %d of %d selects a Pod without bucket", shard, shards)
				}
			}
			if reporting != 1 {
				t.Errorf("%d shards: bucket %d is reported by %d of them", shards, bucket, reporting)
			}
		}
	}
}

func TestImpossibleShardsAreErrors(t *testing.T) {
	for _, test := range [][2]int{{0, 0}, {1, 1}, {-1, 2}, {0, names.WatchBuckets + 1}} {
		if _, err := k8s.ShardSelector(test[0], test[1]); err == nil {
			t.Errorf("shard %d of %d is accepted", test[0], test[1])
		}
	}
}

// heardPods collects the Pods that an informer tells of.
type heardPods struct {
	mutex sync.Mutex
	pods  map[string]*corev1.Pod
}

func (h *heardPods) hear(object any) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	pod := object.(*corev1.Pod)
	h.pods[pod.Namespace+"/"+pod.Name] = pod
}

// hears runs an informer until its first list is complete and returns what it told.
func hears(t *testing.T, client kubernetes.Interface, options k8s.PodInformerOptions) *heardPods {
	t.Helper()
	heard := &heardPods{pods: map[string]*corev1.Pod{}}
	run(t, client, options, cache.ResourceEventHandlerFuncs{AddFunc: heard.hear})
	return heard
}

// run runs an informer until the test ends, and returns when its first list is complete.
func run(t *testing.T, client kubernetes.Interface, options k8s.PodInformerOptions, handler cache.ResourceEventHandler) {
	t.Helper()
	if options.OnAnswer == nil {
		options.OnAnswer = func(error) {}
	}
	informer, listed, err := k8s.NewPodInformer(client, options, handler)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		informer.RunWithContext(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	select {
	case <-listed:
	case <-time.After(10 * time.Second):
		t.Fatal("not in sync")
	}
}

func TestPodInformerHoldsTrimmedPodsOfItsSelector(t *testing.T) {
	owned := pod(corev1.PodRunning)
	owned.Labels = map[string]string{names.WatchBucketLabel: "3"}
	owned.Spec.Containers = []corev1.Container{{Name: "a", Image: "busybox"}}
	other := pod(corev1.PodRunning)
	other.Name, other.UID = "other", "other-uid"
	selector, err := k8s.ShardSelector(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	heard := hears(t, fake.NewClientset(owned.Pod, other.Pod), k8s.PodInformerOptions{Selector: selector})
	if len(heard.pods) != 1 {
		t.Fatalf("heard of %v", slices.Collect(maps.Keys(heard.pods)))
	}
	for _, pod := range heard.pods {
		if pod.UID != owned.UID || len(pod.Spec.Containers) != 0 {
			t.Errorf("Pod %s of UID %s is another, or not trimmed", pod.Name, pod.UID)
		}
	}
}

func TestPodInformerOfANamespaceAsksForNoOther(t *testing.T) {
	in := func(namespace string) *corev1.Pod {
		p := pod(corev1.PodRunning)
		p.Namespace, p.UID = namespace, types.UID(namespace)
		return p.Pod
	}
	client := fake.NewClientset(in("shop"), in("elsewhere"))
	heard := hears(t, client, k8s.PodInformerOptions{Namespace: "shop", Selector: labels.Everything()})
	if want := []string{"shop/" + in("").Name}; !slices.Equal(slices.Collect(maps.Keys(heard.pods)), want) {
		t.Errorf("heard of %v, want %v", slices.Collect(maps.Keys(heard.pods)), want)
	}
	for _, action := range client.Actions() {
		if action.GetNamespace() != "shop" {
			t.Errorf("%s in namespace %q", action.GetVerb(), action.GetNamespace())
		}
	}
}

// TestPodInformerGoesOnSoonAfterAnOutage: client-go alone would wait for minutes by
// the time of the twentieth failure.
func TestPodInformerGoesOnSoonAfterAnOutage(t *testing.T) {
	refused := errors.New("connection refused")
	tests := map[string]struct {
		verb string
		err  error
	}{
		"list, not reached":                 {"list", refused},
		"watch, not reached":                {"watch", refused},
		"starting":                          {"list", apierrors.NewServiceUnavailable("starting")},
		"overloaded":                        {"watch", apierrors.NewTooManyRequests("later", 0)},
		"who may do what is not loaded yet": {"list", apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(pod(corev1.PodRunning).Pod)
			var failures, heard, answered, served atomic.Int64
			fail := func() bool { return failures.Add(1) <= 20 }
			client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				return test.verb == "list" && fail(), nil, test.err
			})
			client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
				if test.verb == "watch" && fail() {
					return true, nil, test.err
				}
				served.Add(1)
				return true, watch.NewFake(), nil
			})
			run(t, client, k8s.PodInformerOptions{
				Selector: labels.Everything(), Retry: 5 * time.Millisecond,
				OnAnswer: func(err error) {
					if err != nil {
						heard.Add(1)
					} else {
						answered.Add(1)
					}
				},
			}, cache.ResourceEventHandlerFuncs{})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			// A list and a watch are served, whichever failed.
			if !cache.WaitForCacheSync(ctx.Done(), func() bool { return served.Load() > 0 && answered.Load() == 2 }) || heard.Load() != 20 {
				t.Errorf("watched %d times after %d failures, %d successes heard of", served.Load(), heard.Load(), answered.Load())
			}
		})
	}
}

// TestPodInformerLeavesOtherAnswersToTheReflector: a resourceVersion that is too old
// needs another request, not the same again.
func TestPodInformerLeavesOtherAnswersToTheReflector(t *testing.T) {
	client := fake.NewClientset(pod(corev1.PodRunning).Pod)
	var requests atomic.Int64
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return requests.Add(1) == 1, nil, apierrors.NewResourceExpired("too old")
	})
	run(t, client, k8s.PodInformerOptions{Selector: labels.Everything(), Retry: time.Hour}, cache.ResourceEventHandlerFuncs{})
}
