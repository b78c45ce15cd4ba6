package k8s

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Informers are those of one kind, by namespace: that of NamespaceAll holds every object.
type Informers map[string]cache.SharedIndexInformer

// Run lists and watches until the context is done.
func (i Informers) Run(ctx context.Context) {
	var group sync.WaitGroup
	for _, informer := range i {
		group.Go(func() { informer.RunWithContext(ctx) })
	}
	group.Wait()
}

// Synced reports whether the first list of a namespace has been read.
func (i Informers) Synced(namespace string) bool {
	informer := i.Of(namespace)
	return informer != nil && informer.HasSynced()
}

// Of returns the informer that holds a namespace, or nil.
func (i Informers) Of(namespace string) cache.SharedIndexInformer {
	return cmp.Or(i[namespace], i[metav1.NamespaceAll])
}

// Tell makes the informer of a namespace, if there is one, tell a handler what there is and what changes.
func (i Informers) Tell(namespace string, handler cache.ResourceEventHandler) error {
	informer := i.Of(namespace)
	if informer == nil {
		return nil
	}
	if _, err := informer.AddEventHandler(handler); err != nil {
		return fmt.Errorf("watch for changes: %w", err)
	}
	return nil
}

// Get returns an object as it was seen last, or nil.
func (i Informers) Get(name types.NamespacedName) any {
	informer := i.Of(name.Namespace)
	if informer == nil {
		return nil
	}
	// The item is nil where there is none; an informer's store has no errors.
	object, _, _ := informer.GetStore().GetByKey(name.String())
	return object
}

// Serves reports whether a process that serves these namespaces serves this one; none means all.
func Serves(namespaces []string, namespace string) bool {
	return len(namespaces) == 0 || slices.Contains(namespaces, namespace)
}

// NamespacesToList returns what to list and watch in order to see the namespaces: each of them, or all at once where none
// is named.
func NamespacesToList(namespaces []string) []string {
	if len(namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return namespaces
}
