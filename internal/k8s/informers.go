package k8s

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"ostinato.dev/ostinato/internal/names"
)

// PodInformerOptions say what an informer on Pods holds and how it behaves while
// the API server is away.
type PodInformerOptions struct {
	// Namespaces are those whose Pods it holds; none means all.
	Namespaces []string
	// Selector is on the Pods' labels.
	Selector labels.Selector
	// OnError hears of every list and watch that failed; it may be nil.
	OnError func(error)
	// Retry is how long to wait before an API server that could not serve is asked
	// again; 0 means a second.
	Retry time.Duration
}

// namespaceInformer returns an informer on the Pods of one namespace, or of all.
func namespaceInformer(client kubernetes.Interface, namespace string, options PodInformerOptions) (cache.SharedInformer, error) {
	again := &persistence{report: options.OnError, interval: cmp.Or(options.Retry, time.Second)}
	if again.report == nil {
		again.report = func(error) {}
	}
	pods := client.CoreV1().Pods(namespace)
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, list metav1.ListOptions) (runtime.Object, error) {
			list.LabelSelector = options.Selector.String()
			return persist(ctx, again, func() (runtime.Object, error) { return pods.List(ctx, list) })
		},
		WatchFuncWithContext: func(ctx context.Context, list metav1.ListOptions) (watch.Interface, error) {
			list.LabelSelector = options.Selector.String()
			return persist(ctx, again, func() (watch.Interface, error) { return pods.Watch(ctx, list) })
		},
	}
	informer := cache.NewSharedInformer(cache.ToListWatcherWithWatchListSemantics(source, client), &corev1.Pod{}, 0)
	if err := informer.SetTransform(TrimPod); err != nil {
		return nil, fmt.Errorf("set the Pod informer's transform: %w", err)
	}
	if err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, reflector *cache.Reflector, err error) {
		again.report(err)
		cache.DefaultWatchErrorHandler(ctx, reflector, err)
	}); err != nil {
		return nil, fmt.Errorf("set the Pod informer's error handler: %w", err)
	}
	return informer, nil
}

// ShardSelector selects the Pods that one of the PodWatch shards reports: those
// whose watch bucket is congruent to the shard's number. Shards beyond
// names.WatchBuckets would select nothing and are an error.
func ShardSelector(shard, shards int) (labels.Selector, error) {
	if shards < 1 || shards > names.WatchBuckets || shard < 0 || shard >= shards {
		return nil, fmt.Errorf("watch shard %d of %d: want 0 <= shard < shards <= %d", shard, shards, names.WatchBuckets)
	}
	if shards == 1 {
		requirement, err := labels.NewRequirement(names.WatchBucketLabel, selection.Exists, nil)
		if err != nil {
			return nil, fmt.Errorf("select watch buckets: %w", err)
		}
		return labels.NewSelector().Add(*requirement), nil
	}
	var buckets []string
	for bucket := shard; bucket < names.WatchBuckets; bucket += shards {
		buckets = append(buckets, strconv.Itoa(bucket))
	}
	requirement, err := labels.NewRequirement(names.WatchBucketLabel, selection.In, buckets)
	if err != nil {
		return nil, fmt.Errorf("select watch buckets: %w", err)
	}
	return labels.NewSelector().Add(*requirement), nil
}

// JobOf returns the name and UID of the batch/v1 Job that controls the Pod.
func JobOf(pod *corev1.Pod) (name string, uid types.UID, ok bool) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != jobKind.Kind || owner.APIVersion != batchv1.SchemeGroupVersion.String() {
		return "", "", false
	}
	return owner.Name, owner.UID, true
}
