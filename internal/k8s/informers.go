package k8s

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"ostinato.dev/ostinato/internal/names"
)

// PodInformerOptions say which Pods an informer holds and how it behaves while the API server is away.
type PodInformerOptions struct {
	// Namespace is the one whose Pods it holds; empty means all.
	Namespace string
	// Selector is on the Pods' labels.
	Selector labels.Selector
	// OnAnswer hears how every list and watch went, with nil when the API server served it.
	OnAnswer func(error)
	// Retry is how long to wait before an API server that could not serve is asked again; 0 means a second.
	Retry time.Duration
}

// NewPodInformer returns an informer that tells the handler of Pods, trimmed by TrimPod, and what is closed when the handler
// has heard of the first list. There is no periodic resync: the handler decides what to repeat and when. After an outage of
// the API server it goes on within about two seconds, where client-go's back-off takes up to a minute.
func NewPodInformer(client kubernetes.Interface, options PodInformerOptions, handler cache.ResourceEventHandler) (
	informer cache.SharedInformer, listed <-chan struct{}, err error,
) {
	retry := cmp.Or(options.Retry, time.Second)
	pods := client.CoreV1().Pods(options.Namespace)
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, list metav1.ListOptions) (runtime.Object, error) {
			list.LabelSelector = options.Selector.String()
			return persist(ctx, retry, options.OnAnswer, func() (runtime.Object, error) { return pods.List(ctx, list) })
		},
		WatchFuncWithContext: func(ctx context.Context, list metav1.ListOptions) (watch.Interface, error) {
			list.LabelSelector = options.Selector.String()
			return persist(ctx, retry, options.OnAnswer, func() (watch.Interface, error) { return pods.Watch(ctx, list) })
		},
	}
	informer = cache.NewSharedInformer(cache.ToListWatcherWithWatchListSemantics(source, client), &corev1.Pod{}, 0)
	err = errors.Join(informer.SetTransform(TrimPod), informer.SetWatchErrorHandlerWithContext(
		func(ctx context.Context, reflector *cache.Reflector, err error) {
			options.OnAnswer(err)
			cache.DefaultWatchErrorHandler(ctx, reflector, err)
		}))
	if err != nil {
		return nil, nil, fmt.Errorf("set up the Pod informer: %w", err)
	}
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return nil, nil, fmt.Errorf("handle Pod events: %w", err)
	}
	return informer, registration.HasSyncedChecker().Done(), nil
}

// persist makes a request until the API server serves it, or answers something that the caller has to act on. A reflector
// waits up to a minute after a failure, and does not notice that the API server is back; one request a second from each
// watch costs little and saves that minute.
func persist[Result any](ctx context.Context, retry time.Duration, report func(error), request func() (Result, error)) (Result, error) {
	for {
		result, err := request()
		if err == nil || unserved(err) {
			report(err)
		}
		if !unserved(err) {
			return result, err
		}
		select {
		case <-ctx.Done():
			return result, err
		case <-time.After(wait.Jitter(retry, 0.5)):
		}
	}
}

// unserved reports whether the API server was not reached, or does not serve for now: it is starting, is overloaded, or
// has not loaded who may do what.
func unserved(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err != nil && !errors.Is(err, context.Canceled)
	}
	switch status.Status().Code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable:
		return true
	}
	return false
}

// HandlerOf makes an informer's handler from functions on one type. An update
// from one UID to another is a deletion and an addition that the watch missed.
func HandlerOf[T metav1.Object](added func(T, bool), updated func(old, new T), deleted func(T)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, initial bool) {
			if object, ok := o.(T); ok {
				added(object, initial)
			}
		},
		UpdateFunc: func(o, n any) {
			before, ok1 := o.(T)
			after, ok2 := n.(T)
			switch {
			case !ok1 || !ok2:
			case before.GetUID() != after.GetUID():
				deleted(before)
				added(after, false)
			default:
				updated(before, after)
			}
		},
		DeleteFunc: func(o any) {
			if tombstone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = tombstone.Obj
			}
			if object, ok := o.(T); ok {
				deleted(object)
			}
		},
	}
}

// ShardSelector selects the Pods that one of the PodWatch shards reports: those whose watch bucket is congruent to the
// shard's number. Shards beyond names.WatchBuckets would select nothing and are an error.
func ShardSelector(shard, shards int) (labels.Selector, error) {
	if shards < 1 || shards > names.WatchBuckets || shard < 0 || shard >= shards {
		return nil, fmt.Errorf("watch shard %d of %d: want 0 <= shard < shards <= %d", shard, shards, names.WatchBuckets)
	}
	selector := names.WatchBucketLabel
	if shards > 1 {
		var buckets []string
		for bucket := shard; bucket < names.WatchBuckets; bucket += shards {
			buckets = append(buckets, strconv.Itoa(bucket))
		}
		selector += " in (" + strings.Join(buckets, ",") + ")"
	}
	return labels.Parse(selector)
}
