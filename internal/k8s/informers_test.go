package k8s_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/fake"
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
	owned.Spec.NodeName = "node"
	owned.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(helloJob("hello-1"), batchv1.SchemeGroupVersion.WithKind("Job"))}
	other := pod(corev1.PodRunning)
	other.Name, other.UID = "other", "other-uid"
	selector, err := k8s.ShardSelector(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	informer, err := k8s.NewPodInformer(fake.NewClientset(owned.Pod, other.Pod), selector)
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
	if found[0].(*corev1.Pod).Spec.NodeName != "" {
		t.Error("the Pod is not trimmed")
	}
}
