package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// settling is how long after all Pods run the last writes of their start may take.
const settling = 5 * time.Second

// runningJobs creates Jobs whose Pods all run until one time, and looks at what happens while they do.
func (w *window) runningJobs(ctx context.Context) error {
	m := w.measurement
	line := newTimeline(m.size)
	r, err := w.record(ctx, line)
	if err != nil {
		return err
	}
	defer r.stop()
	if err := w.open(ctx); err != nil {
		return err
	}
	start := time.Now()
	until := start.Add(w.options.runTime(m.scenario, m.column, m.size)).Truncate(time.Second)
	if err := w.cluster.createJobs(ctx, w.namespace, m.column.ostinato, m.size, until); err != nil {
		return err
	}
	m.created = time.Since(start)
	if err := w.allRunning(ctx, line, until.Add(-settling-metricsFlush-w.options.window)); err != nil {
		return err
	}
	m.running = time.Since(start)
	if err := pause(ctx, settling); err != nil {
		return err
	}
	if err := w.rest(ctx); err != nil {
		return err
	}
	if time.Now().After(until) {
		return fmt.Errorf("the Pods ended before the time to look at them was over: use a longer --run")
	}
	if err := w.follow(ctx, r, until); err != nil {
		return err
	}
	m.spans, m.pods = line.spans(start), line.progress().pods
	m.spans.all -= until.Sub(start)
	return nil
}

// allRunning waits, at most until a time, until every Job has its Pod running.
func (w *window) allRunning(ctx context.Context, line *timeline, latest time.Time) error {
	limited, cancel := context.WithDeadlineCause(ctx, latest, fmt.Errorf("not all Pods ran in time: use a longer --run"))
	defer cancel()
	err := wait.PollUntilContextCancel(limited, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		return line.progress().running == w.measurement.size, w.cluster.alive()
	})
	if err != nil && limited.Err() != nil {
		return fmt.Errorf("%w: %s", context.Cause(limited), line.state())
	}
	return err
}
