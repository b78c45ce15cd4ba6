package activities

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
)

// CreatePods creates many Pods, rate limited and heartbeating. An attempt after
// a failure goes on where the last heartbeat left off.
func (a *Activities) CreatePods(ctx context.Context, request protocol.CreatePodsRequest) (protocol.JobResult, error) {
	owner, err := k8s.GetJob(ctx, a.Kubernetes, request.Job.Namespace, request.Job.Name, types.UID(request.Job.UID))
	switch {
	case errors.Is(err, k8s.ErrGone):
		return protocol.JobResult{Gone: true}, nil
	case err != nil:
		return protocol.JobResult{}, outage(err, "get Job %s/%s", request.Job.Namespace, request.Job.Name)
	}
	if refused := a.refuseCreates(owner, request.Creates); refused != nil {
		return a.refusedJob(owner, refused), nil
	}
	var reported []protocol.CreatedPod
	recall(ctx, &reported)
	progress := newCreation(request.Creates, reported)
	stop := heartbeat(ctx, func() any { return progress.created() })
	err = a.createPods(ctx, owner, request.Creates, progress, a.bulk.Wait)
	stop()
	if err != nil {
		return protocol.JobResult{}, err
	}
	return protocol.JobResult{Created: progress.created(), Refused: progress.refused()}, nil
}

// bulkChunk is how many deletes are carried out between two marks of progress.
const bulkChunk = 2 * parallelRequests

// DeletePods deletes many Pods, rate limited and heartbeating. An attempt after
// a failure goes on where the last heartbeat left off.
func (a *Activities) DeletePods(ctx context.Context, request protocol.DeletePodsRequest) (protocol.JobResult, error) {
	var begin int
	recall(ctx, &begin)
	var done atomic.Int64
	done.Store(int64(min(max(begin, 0), len(request.Deletes))))
	stop := heartbeat(ctx, func() any { return done.Load() })
	defer stop()
	events := a.Events.perPod()
	for rest := request.Deletes[done.Load():]; len(rest) > 0; {
		chunk := rest[:min(bulkChunk, len(rest))]
		rest = rest[len(chunk):]
		err := each(chunk, func(target job.Delete) error {
			if err := a.bulk.Wait(ctx); err != nil {
				return outage(err, "wait to delete Pod %s/%s", request.Job.Namespace, target.Name)
			}
			return a.deletePod(ctx, request.Job, target, events)
		})
		if err != nil {
			return protocol.JobResult{}, err
		}
		done.Add(int64(len(chunk)))
	}
	return protocol.JobResult{}, nil
}

// accounting is the progress of ReleasePods.
type accounting struct {
	// Logs are read first; nil until then.
	Logs     []job.PodLog `json:"logs"`
	Released int          `json:"released"`
}

// ReleasePods reads the logs that are asked for and releases the Pods, rate limited
// and heartbeating. An attempt after a failure goes on where the last heartbeat left
// off.
func (a *Activities) ReleasePods(ctx context.Context, request protocol.ReleasePodsRequest) (protocol.JobResult, error) {
	var progress accounting
	recall(ctx, &progress)
	if progress.Logs == nil {
		progress = accounting{Logs: a.readLogs(ctx, request.Job.Namespace, request.Releases)}
	}
	var done atomic.Int64
	done.Store(int64(min(max(progress.Released, 0), len(request.Releases))))
	stop := heartbeat(ctx, func() any { return accounting{Logs: progress.Logs, Released: int(done.Load())} })
	defer stop()
	for rest := request.Releases[done.Load():]; len(rest) > 0; {
		chunk := rest[:min(bulkChunk, len(rest))]
		rest = rest[len(chunk):]
		err := each(chunk, func(release job.Release) error {
			if err := a.bulk.Wait(ctx); err != nil {
				return outage(err, "wait to release Pod %s/%s", request.Job.Namespace, release.Name)
			}
			return a.releasePod(ctx, request.Job, release)
		})
		if err != nil {
			return protocol.JobResult{}, err
		}
		done.Add(int64(len(chunk)))
	}
	return protocol.JobResult{Logs: progress.Logs}, nil
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
