package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// cronJobs creates all CronJobs well before they are due. In scenario failover what runs them is killed at the due time.
func (w *window) cronJobs(ctx context.Context) error {
	m := w.measurement
	var err error
	if w.meter, err = startUsage(w.cluster.processes()); err != nil {
		return err
	}
	armed, err := w.watchArmed(ctx)
	if err != nil {
		return err
	}
	defer armed.stop()
	start := time.Now()
	times := w.options.dueTimes(start, m.size)
	if err := w.cluster.createCronJobs(ctx, w.namespace, m.column.native(), schedule(times...), m.size); err != nil {
		return err
	}
	m.created = time.Since(start)
	if err := w.arm(ctx, armed, start, times[0]); err != nil {
		return err
	}
	if err := w.readSetup(); err != nil {
		return err
	}
	due := times[len(times)-1]
	for _, earlier := range times[:len(times)-1] {
		if err := w.passHerd(ctx, earlier); err != nil {
			return err
		}
	}
	line := newTimeline(m.size)
	r, err := w.record(ctx, line)
	if err != nil {
		return err
	}
	defer r.stop()
	if err := pause(ctx, time.Until(due)-w.lag()-2*time.Second); err != nil {
		return err
	}
	if err := w.open(ctx); err != nil {
		return err
	}
	if time.Now().After(due) {
		return fmt.Errorf("the CronJobs were due before the measurement was ready: use a longer --lead than %s", due.Sub(start))
	}
	if m.scenario == scenarioFailOver {
		err = w.failOver(ctx, due)
	} else {
		w.startProfiles(ctx)
	}
	if err != nil {
		return err
	}
	if err := w.follow(ctx, r, due); err != nil {
		return err
	}
	m.spans, m.pods = line.spans(due), line.progress().pods
	return nil
}

// passHerd waits until the runs of a time have ended.
func (w *window) passHerd(ctx context.Context, due time.Time) error {
	line := newTimeline(w.measurement.size)
	r, err := w.record(ctx, line)
	if err != nil {
		return err
	}
	defer r.stop()
	limited, cancel := context.WithTimeout(ctx, time.Until(due)+w.options.patience(w.measurement.column, w.measurement.size))
	defer cancel()
	if err := r.wait(limited, w.cluster.alive); err != nil {
		return err
	}
	spans := line.spans(due)
	w.logf("earlier herd, due time to Job created: p50 %s, p99 %s", seconds(percentile(spans.fromStart, 0.5)), seconds(percentile(spans.fromStart, 0.99)))
	return nil
}

// watchArmed watches which CronJobs Ostinato has taken over.
func (w *window) watchArmed(ctx context.Context) (*recorder, error) {
	return startArmedRecorder(ctx, w.cluster.Clients, w.namespace, w.measurement.column.native(), newArmed(w.measurement.size))
}

// arm waits, at most until a time, until Ostinato has taken over every CronJob. Of the built-in controllers it can't be seen.
func (w *window) arm(ctx context.Context, armed *recorder, start, until time.Time) error {
	defer armed.stop()
	if !w.measurement.column.ostinato {
		return nil
	}
	limited, cancel := context.WithDeadlineCause(ctx, until, fmt.Errorf("not all were taken over %s after the start; use --lead or --timeout",
		until.Sub(start).Round(time.Second)))
	defer cancel()
	if err := armed.wait(limited, w.cluster.alive); err != nil {
		return err
	}
	w.measurement.armed = armed.observer.(*armedCronJobs).last().Sub(start)
	return nil
}

func (w *window) readSetup() error {
	usage, err := w.meter.read()
	if err != nil {
		return err
	}
	for _, u := range slices.DeleteFunc(usage, func(u processUsage) bool { return u.name == "bench" || u.name == others }) {
		w.measurement.setupCPU += time.Duration(u.cpuSeconds * float64(time.Second))
	}
	return nil
}
