package activities

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
)

// deletePod deletes one Pod of a Job, without counting it where that is asked for.
func (a *Activities) deletePod(ctx context.Context, owner protocol.ObjectReference, target job.Delete, events *announcer) error {
	if target.Release {
		if _, err := k8s.ReleasePod(ctx, a.Kubernetes, owner.Namespace, target.Name, types.UID(target.UID), false); err != nil {
			return deleteFailed(owner, target, err, events)
		}
	}
	deleted, err := k8s.DeletePod(ctx, a.Kubernetes, owner.Namespace, target.Name, types.UID(target.UID))
	if err != nil {
		return deleteFailed(owner, target, err, events)
	}
	if deleted {
		events.announce(owner, event.Normal(successfulDelete, "Deleted pod: "+target.Name))
	}
	return nil
}

func deleteFailed(owner protocol.ObjectReference, target job.Delete, err error, events *announcer) error {
	if answered(err) {
		events.announce(owner, event.Warning(failedDelete, fmt.Sprintf("Error deleting: %v", err)))
	}
	return outage(err, "delete Pod %s/%s", owner.Namespace, target.Name)
}

// each calls do for every item, some at a time, and returns the first error
// after all have ended.
func each[Item any](items []Item, do func(Item) error) error {
	var group errgroup.Group
	group.SetLimit(parallelRequests)
	for _, item := range items {
		group.Go(func() error { return do(item) })
	}
	return group.Wait()
}
