package k8s_test

import (
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"ostinato.dev/ostinato/internal/k8s"
)

// eventNames keeps the names that client-go gives to Events.
type eventNames struct {
	mutex sync.Mutex
	all   map[string]int
}

func TestEventsThatManyRecordAtOnceHaveNamesOfTheirOwn(t *testing.T) {
	const recording, each = 4, 50_000
	broadcaster := record.NewBroadcaster(record.WithContext(t.Context()))
	defer broadcaster.Shutdown()
	seen := &eventNames{all: map[string]int{}}
	broadcaster.StartEventWatcher(func(event *corev1.Event) {
		seen.mutex.Lock()
		defer seen.mutex.Unlock()
		seen.all[event.Name]++
	})
	recorder := k8s.OneAtATime(broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: "test"}))
	object := &corev1.ObjectReference{Namespace: "default", Name: "hello", UID: "uid"}
	var group sync.WaitGroup
	for range recording {
		group.Go(func() {
			for range each {
				recorder.Event(object, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod")
			}
		})
	}
	group.Wait()
	seen.mutex.Lock()
	defer seen.mutex.Unlock()
	if len(seen.all) == 0 {
		t.Fatal("no Event was seen")
	}
	for name, count := range seen.all {
		if count > 1 {
			t.Fatalf("%d Events are named %s", count, name)
		}
	}
}
