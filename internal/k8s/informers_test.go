package k8s_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
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

func TestPodInformerHoldsTrimmedPodsOfItsSelectorByJob(t *testing.T) {
	owned := pod(corev1.PodRunning)
	owned.Labels = map[string]string{names.WatchBucketLabel: "3"}
	owned.Spec.Containers = []corev1.Container{{Name: "a", Image: "busybox"}}
	owned.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(helloJob("hello-1"), batchv1.SchemeGroupVersion.WithKind("Job"))}
	other := pod(corev1.PodRunning)
	other.Name, other.UID = "other", "other-uid"
	selector, err := k8s.ShardSelector(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	informer, err := k8s.NewPodInformer(fake.NewClientset(owned.Pod, other.Pod), k8s.PodInformerOptions{Selector: selector})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("the informer did not sync")
	}
	found, err := informer.GetIndexer().ByIndex(k8s.JobUIDIndex, "job-uid")
	if err != nil || len(found) != 1 || len(informer.GetStore().List()) != 1 {
		t.Fatalf("found %v (%v) of %v", found, err, informer.GetStore().ListKeys())
	}
	if len(found[0].(*corev1.Pod).Spec.Containers) != 0 {
		t.Error("the Pod is not trimmed")
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
			var failures, heard, served atomic.Int64
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
			informer, err := k8s.NewPodInformer(client, k8s.PodInformerOptions{
				Selector: labels.Everything(), OnError: func(error) { heard.Add(1) }, Retry: 5 * time.Millisecond,
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			go informer.RunWithContext(ctx)
			synced := func() bool { return informer.HasSynced() && served.Load() > 0 }
			if !cache.WaitForCacheSync(ctx.Done(), synced) || heard.Load() != 20 {
				t.Errorf("in sync %v after %d failures", synced(), heard.Load())
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
	informer, err := k8s.NewPodInformer(client, k8s.PodInformerOptions{Selector: labels.Everything(), Retry: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Error("the informer did not sync")
	}
}
