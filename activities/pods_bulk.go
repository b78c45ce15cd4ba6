package activities

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// CreatePods creates many Pods, rate limited and heartbeating. An attempt after
// a failure goes on where the last heartbeat left off.
func (a *Activities) CreatePods(ctx context.Context, request protocol.CreatePodsRequest) (protocol.JobResult, error) {
	if err := bounded(list{"creates", len(request.Creates), mostInBulk}); err != nil {
		return protocol.JobResult{}, err
	}
	var reported protocol.CreatedPods
	recall(ctx, &reported)
	progress := newCreation(request.Creates, reported, a.Events.besides(0))
	stop := heartbeat(ctx, func() any { return progress.created() })
	defer stop()
	owner, result, done, err := a.jobFor(ctx, request.Job, live)
	if done || a.unplanned(owner, request.Digest, &result) || a.overtaken(owner, request.Base, &result) || matched(owner, request.Judge, &result) {
		return result, err
	}
	refused, err := a.refuseCreates(ctx, owner, request.Creates)
	switch {
	case err != nil:
		return protocol.JobResult{}, err
	case refused != nil:
		return a.refusedJob(owner, refused), nil
	}
	if err := a.createPods(ctx, owner, request.Creates, progress, a.bulk.Wait); err != nil {
		return protocol.JobResult{}, err
	}
	return protocol.JobResult{Created: progress.created(), Refused: progress.refused()}, nil
}

// bulkChunk is how many deletes or releases are carried out between two marks of progress.
const bulkChunk = 2 * parallelRequests

// DeletePods deletes many Pods, rate limited and heartbeating. An attempt after
// a failure goes on where the last heartbeat left off.
func (a *Activities) DeletePods(ctx context.Context, request protocol.DeletePodsRequest) (protocol.JobResult, error) {
	if err := bounded(list{"deletes", len(request.Deletes), mostInBulk}); err != nil {
		return protocol.JobResult{}, err
	}
	work := resume(ctx, protocol.BulkProgress{})
	defer work.stop()
	owner, result, done, err := a.jobFor(ctx, request.Job, live)
	if done || a.unplanned(owner, request.Digest, &result) || matched(owner, request.Judge, &result) {
		return result, err
	}
	events := a.Events.besides(0)
	return inChunks(ctx, a, request.Deletes, work, func(target job.Delete, out *findings) error {
		return a.deletePod(ctx, owner, target, events, out)
	})
}

// ReleasePods reads the logs that are asked for and releases the Pods, rate limited
// and heartbeating. An attempt after a failure goes on where the last heartbeat left
// off.
func (a *Activities) ReleasePods(ctx context.Context, request protocol.ReleasePodsRequest) (protocol.JobResult, error) {
	if err := bounded(list{"releases", len(request.Releases), mostInBulk}); err != nil {
		return protocol.JobResult{}, err
	}
	work := resume(ctx, protocol.BulkProgress{Done: -1})
	defer work.stop()
	fresh := cached
	if slices.ContainsFunc(request.Releases, func(release job.Release) bool { return release.Logs }) {
		fresh = live // The Job may have asked meanwhile to keep the logs of its Pods out.
	}
	owner, result, done, err := a.jobFor(ctx, request.Job, fresh)
	if done {
		return result, err
	}
	if work.progress.Done < 0 {
		work.progress = protocol.BulkProgress{Result: protocol.JobResult{Logs: a.readLogs(ctx, owner, request.Releases)}}
	}
	return inChunks(ctx, a, request.Releases, work, func(release job.Release, out *findings) error {
		return a.releasePod(ctx, owner, release, out)
	})
}

// bulkWork is an activity about many Pods that reports how far it has come.
type bulkWork struct {
	progress protocol.BulkProgress
	mark     atomic.Pointer[protocol.BulkProgress]
	// stop ends the reports.
	stop func()
}

// resume goes on where the last report of an earlier attempt left off; without one from the beginning.
func resume(ctx context.Context, beginning protocol.BulkProgress) *bulkWork {
	w := &bulkWork{progress: beginning}
	recall(ctx, &w.progress)
	w.save()
	w.stop = heartbeat(ctx, func() any { return w.mark.Load() })
	return w
}

func (w *bulkWork) save() {
	saved := w.progress
	w.mark.Store(&saved)
}

// inChunks does something to many Pods, from where the work left off.
func inChunks[Item any](ctx context.Context, a *Activities, items []Item, work *bulkWork, do func(Item, *findings) error) (protocol.JobResult, error) {
	progress := &work.progress
	progress.Done = min(max(progress.Done, 0), len(items))
	out := &findings{result: &progress.Result}
	work.save()
	for progress.Done < len(items) {
		chunk := items[progress.Done:min(progress.Done+bulkChunk, len(items))]
		err := each(chunk, func(item Item) error {
			if err := a.bulk.Wait(ctx); err != nil {
				return outage(err, "wait for the limit of bulk work")
			}
			return do(item, out)
		})
		if err != nil {
			return protocol.JobResult{}, err
		}
		progress.Done += len(chunk)
		work.save()
	}
	return progress.Result, nil
}

// Bounds of the lists of a request: what plans make. Each item of the first four costs
// requests to the API server, and anybody who may write to Temporal may ask for them.
const (
	// mostByOne bounds what CarryOut creates, deletes and releases, each; more is bulk work.
	mostByOne = protocol.BulkThreshold
	// mostInBulk bounds the Pods of a request for bulk work.
	mostInBulk = protocol.BulkChunk
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

// heartbeatInterval is how often long activities report; the SDK sends a report
// at most every 0.8 heartbeat timeouts.
const heartbeatInterval = time.Second

// heartbeat reports the details now and then until it is stopped, and once more then.
func heartbeat(ctx context.Context, details func() any) (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(heartbeatInterval)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				activity.RecordHeartbeat(ctx, details())
				return
			case <-ctx.Done():
				return
			case <-ticker.C:
				activity.RecordHeartbeat(ctx, details())
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
	}
}

// recall reads the last heartbeat of an earlier attempt into details; without
// one, or with one that can't be read, the attempt starts from the beginning,
// which repeats nothing that matters.
func recall(ctx context.Context, details any) {
	if !activity.HasHeartbeatDetails(ctx) {
		return
	}
	if err := activity.GetHeartbeatDetails(ctx, details); err != nil {
		activity.GetLogger(ctx).Warn("heartbeat details of an earlier attempt are unreadable", "error", err)
	}
}
