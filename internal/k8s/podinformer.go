package k8s

import (
	"context"
	"strings"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// PodInformer is an informer on Pods, of several namespaces too: each of them is
// listed and watched by itself, so that no right on all namespaces is needed.
type PodInformer struct {
	informers     []cache.SharedInformer
	registrations []*podRegistration
	name          string
}

// NewPodInformer returns an informer on Pods, trimmed by TrimPod. It does no
// periodic resync: whoever hears of Pods decides what to repeat and when. After an
// outage of the API server it goes on within about two seconds, where client-go's
// back-off takes up to a minute.
func NewPodInformer(client kubernetes.Interface, options PodInformerOptions) (*PodInformer, error) {
	p := &PodInformer{name: "Pods of all namespaces"}
	if len(options.Namespaces) > 0 {
		p.name = "Pods of " + strings.Join(options.Namespaces, ", ")
	}
	for _, namespace := range NamespacesToList(options.Namespaces) {
		informer, err := namespaceInformer(client, namespace, options)
		if err != nil {
			return nil, err
		}
		p.informers = append(p.informers, informer)
	}
	return p, nil
}

// AddEventHandler has the handler hear of the Pods, one call at a time. It is to be
// called before RunWithContext.
func (p *PodInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	if len(p.informers) > 1 {
		handler = &oneAtATime{handler: handler}
	}
	registration := &podRegistration{name: p.name, done: make(chan struct{})}
	for _, informer := range p.informers {
		one, err := informer.AddEventHandler(handler)
		if err != nil {
			return nil, err
		}
		registration.of = append(registration.of, one.HasSyncedChecker())
	}
	p.registrations = append(p.registrations, registration)
	return registration, nil
}

// RunWithContext lists and watches until the context is done.
func (p *PodInformer) RunWithContext(ctx context.Context) {
	var group sync.WaitGroup
	for _, informer := range p.informers {
		group.Go(func() { informer.RunWithContext(ctx) })
	}
	for _, registration := range p.registrations {
		group.Go(func() { registration.await(ctx) })
	}
	group.Wait()
}

// podRegistration is done when the handler has heard of every namespace's first list.
type podRegistration struct {
	name string
	of   []cache.DoneChecker
	done chan struct{}
}

func (r *podRegistration) await(ctx context.Context) {
	if cache.WaitFor(ctx, "", r.of...) {
		close(r.done)
	}
}

func (r *podRegistration) HasSynced() bool                     { return cache.IsDone(r) }
func (r *podRegistration) HasSyncedChecker() cache.DoneChecker { return r }
func (r *podRegistration) Done() <-chan struct{}               { return r.done }
func (r *podRegistration) Name() string                        { return r.name }

// oneAtATime serialises the calls of several informers.
type oneAtATime struct {
	mutex   sync.Mutex
	handler cache.ResourceEventHandler
}

func (o *oneAtATime) OnAdd(object any, initial bool) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.handler.OnAdd(object, initial)
}

func (o *oneAtATime) OnUpdate(before, after any) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.handler.OnUpdate(before, after)
}

func (o *oneAtATime) OnDelete(object any) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.handler.OnDelete(object)
}
