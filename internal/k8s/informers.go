package k8s

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
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
	// OnAnswer hears how every list and watch of a namespace went, with nil when the API
	// server served it; it may be nil.
	OnAnswer func(namespace string, err error)
	// Retry is how long to wait before an API server that could not serve is asked
	// again; 0 means a second.
	Retry time.Duration
}

// namespaceInformer returns an informer on the Pods of one namespace, or of all.
func namespaceInformer(client kubernetes.Interface, namespace string, options PodInformerOptions) (cache.SharedInformer, error) {
	again := &persistence{report: func(error) {}, interval: cmp.Or(options.Retry, time.Second)}
	if options.OnAnswer != nil {
		again.report = func(err error) { options.OnAnswer(namespace, err) }
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
