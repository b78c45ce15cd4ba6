package ask

import (
	"context"
	"sync"

	"go.temporal.io/sdk/client"
)

// connections are clients of Temporal that stay open, one for each of its namespaces. They share what is below them.
type connections struct {
	mutex sync.Mutex
	open  map[string]client.Client
}

// Keep lets later calls share connections, which Close ends.
func (w *Workflows) Keep() *Workflows {
	w.kept = &connections{open: map[string]client.Client{}}
	return w
}

// Close ends the connections that are kept.
func (w *Workflows) Close() {
	if w.kept == nil {
		return
	}
	w.kept.mutex.Lock()
	defer w.kept.mutex.Unlock()
	for namespace, connected := range w.kept.open {
		connected.Close()
		delete(w.kept.open, namespace)
	}
}

// dial returns a client of the options' namespace, and what to call when it is not used any more. Of many calls that come
// while there is none, one connects and the others wait for it.
func (c *connections) dial(ctx context.Context, options client.Options) (connected client.Client, release func(), err error) {
	if c == nil {
		connected, err = client.DialContext(ctx, options)
		if err != nil {
			return nil, nil, err
		}
		return connected, connected.Close, nil
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if connected, found := c.open[options.Namespace]; found {
		return connected, func() {}, nil
	}
	for _, other := range c.open {
		connected, err = client.NewClientFromExistingWithContext(ctx, other, options)
		break
	}
	if connected == nil && err == nil {
		connected, err = client.DialContext(ctx, options)
	}
	if err != nil {
		return nil, nil, err
	}
	c.open[options.Namespace] = connected
	return connected, func() {}, nil
}
