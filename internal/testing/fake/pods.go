package fake

import (
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// Identify makes the client give created objects a UID, their name with "-uid" behind it,
// and a creation time, as the API server does.
func Identify(client *fake.Clientset, created time.Time) {
	client.PrependReactor("create", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		object := action.(clienttesting.CreateAction).GetObject().(metav1.Object)
		object.SetUID(types.UID(object.GetName() + "-uid"))
		object.SetCreationTimestamp(metav1.NewTime(created))
		return false, nil, nil
	})
}

// SelectPods makes the client's watches of Pods heed label selectors, as the API server
// does. It returns how many watches were opened: the client does not replay what
// happened between a list and its watch.
func SelectPods(client *fake.Clientset) (opened *atomic.Int64) {
	opened = &atomic.Int64{}
	client.PrependWatchReactor("pods", func(action clienttesting.Action) (bool, watch.Interface, error) {
		selector := action.(clienttesting.WatchAction).GetWatchRestrictions().Labels
		list, err := client.Tracker().List(action.GetResource(), corev1.SchemeGroupVersion.WithKind("Pod"), action.GetNamespace())
		if err != nil {
			return true, nil, fmt.Errorf("list Pods: %w", err)
		}
		seen := map[types.UID]*corev1.Pod{}
		for _, pod := range list.(*corev1.PodList).Items {
			if selector.Matches(labels.Set(pod.Labels)) {
				seen[pod.UID] = &pod
			}
		}
		stream, err := client.Tracker().Watch(action.GetResource(), action.GetNamespace())
		if err != nil {
			return true, nil, err
		}
		opened.Add(1)
		return true, watch.Filter(stream, selecting(selector, seen)), nil
	})
	return opened
}

// selecting makes of a watch of all Pods one with a label selector: a Pod that does not
// match any more is deleted for the watch, with the last state in which it did.
func selecting(selector labels.Selector, seen map[types.UID]*corev1.Pod) watch.FilterFunc {
	return func(event watch.Event) (watch.Event, bool) {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			return event, true
		}
		before, known := seen[pod.UID]
		switch {
		case event.Type == watch.Deleted:
			delete(seen, pod.UID)
			return event, known
		case selector.Matches(labels.Set(pod.Labels)):
			seen[pod.UID] = pod
			event.Type = watch.Modified
			if !known {
				event.Type = watch.Added
			}
			return event, true
		}
		delete(seen, pod.UID)
		return watch.Event{Type: watch.Deleted, Object: before}, known
	}
}
