package activities

import (
	"fmt"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// Bounds of the lists of a request: what plans make. Each item of the first three costs
// requests to the API server, and anybody who may write to Temporal may ask for them.
const (
	// mostPods bounds what CarryOut creates, deletes and releases, each.
	mostPods = job.MaxPods
	// mostLooks bounds the runs that are looked up.
	mostLooks = protocol.MaxLooks
	// mostJobDeletes bounds the Jobs that are deleted: those that are replaced, and those
	// beyond the history limits.
	mostJobDeletes = schedule.MaxDeletes
	// mostAsked bounds the Events that are asked for.
	mostAsked = event.MaxPerRequest
	// mostCounted and mostUndecided bound lists of UIDs, which are compared with
	// what is there.
	mostCounted   = job.MaxCounted
	mostUndecided = job.MaxStatePods
)

// list is one of a request's, with its bound.
type list struct {
	name        string
	count, most int
}

func bounded(lists ...list) error {
	for _, list := range lists {
		if list.count > list.most {
			return invalidRequest(fmt.Errorf("%s: %d, want %d at most", list.name, list.count, list.most))
		}
	}
	return nil
}
