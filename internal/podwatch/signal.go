package podwatch

import (
	"context"
	"errors"
	"iter"
	"time"

	"go.temporal.io/api/serviceerror"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
)

// errNoWorkflow says that a Job has no workflow that runs.
var errNoWorkflow = errors.New("the Job has no workflow")

// signal signals the Job's workflow; the error is errNoWorkflow where none runs.
func (w *Watcher) signal(ctx context.Context, to jobKey, facts protocol.PodFacts) error {
	facts.JobUID = string(to.uid)
	started := w.Clock.Now()
	err := w.Temporal.SignalWorkflow(ctx, w.Cluster.JobWorkflowID(to.namespace, to.name), "", protocol.PodsSignal, facts)
	w.Metrics.signalSeconds.Observe(w.Clock.Since(started).Seconds())
	_, notFound := errors.AsType[*serviceerror.NotFound](err)
	switch {
	case notFound:
		w.Metrics.signals.WithLabelValues(resultNotFound).Inc()
		return errNoWorkflow
	case err != nil:
		w.Metrics.signals.WithLabelValues(resultError).Inc()
		return err
	}
	w.Metrics.signals.WithLabelValues(resultSent).Inc()
	w.Metrics.facts.Add(float64(len(facts.Facts)))
	return nil
}

// send tells the Job's workflow of Pods, in parts that a signal can hold. What was not taken stays to be sent.
func (w *Watcher) send(ctx context.Context, watched *watchedJob, facts []job.PodFact) error {
	for part := range parts(facts) {
		err := w.signal(ctx, watched.jobKey, protocol.PodFacts{Facts: part})
		if errors.Is(err, errNoWorkflow) {
			if settled, settleErr := w.releaseOrphans(ctx, watched, true); settled || settleErr != nil {
				return settleErr
			}
			// The Job runs: the bridge will start its workflow.
		}
		if err != nil {
			return err
		}
		w.change(func(now time.Time) { watched.told(part, now) })
	}
	return nil
}

// signalBytes is about how much one signal holds at most: Temporal warns of events of 512 KiB.
const signalBytes = 256 * 1024

// parts cuts facts into parts that a signal can hold.
func parts(facts []job.PodFact) iter.Seq[[]job.PodFact] {
	return func(yield func([]job.PodFact) bool) {
		begin, size := 0, 0
		for i, fact := range facts {
			if i-begin == protocol.MaxFactsPerSignal || size > 0 && size+weight(fact) > signalBytes {
				if !yield(facts[begin:i]) {
					return
				}
				begin, size = i, 0
			}
			size += weight(fact)
		}
		if begin < len(facts) {
			yield(facts[begin:])
		}
	}
}

// weight is about how many bytes a fact takes in a signal.
func weight(fact job.PodFact) int {
	const names = 150
	size := names + len(fact.Name) + len(fact.UID) + len(fact.Node) + len(fact.Container) +
		len(fact.Reason) + len(fact.Message) + len(fact.PendingMessage)
	for _, exit := range fact.Exits {
		size += len(exit.Container) + 20
	}
	for _, condition := range fact.Conditions {
		size += len(condition) + 3
	}
	return size
}
