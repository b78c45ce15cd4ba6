package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

const (
	// trailing is how long after the last Complete processor time still counts: workflows close, Events are written.
	trailing = 2 * time.Second
	// metricsFlush is how long the Temporal SDK's metrics may lag behind.
	metricsFlush = 6 * time.Second
)

// bench runs columns and scenarios.
type bench struct {
	options options
	cluster *cluster
	log     io.Writer
	results []measurement
	// versions are those of all that ran.
	versions []string
}

func (b *bench) logf(format string, arguments ...any) {
	fmt.Fprintf(b.log, "%s bench: %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, arguments...))
}

// runTrials measures everything asked for; results holds what was done when it fails.
func (b *bench) runTrials(ctx context.Context) error {
	for _, name := range b.options.leftOut() {
		b.logf("column %s is left out: at more than %d objects it takes minutes (--full)", name, slowLimit)
	}
	trials := b.options.trials()
	for n, t := range trials {
		b.logf("%d of %d: %s, column %s, repeat %d: starting its controllers", n+1, len(trials), b.options.title(t.scenario, t.size), t.column.name, t.repeat+1)
		m, err := b.runTrial(ctx, t)
		if err != nil {
			return fmt.Errorf("column %s, %d %s: %w", t.column.name, t.size, t.scenario, err)
		}
		b.results = append(b.results, m)
		if all := m.all(); all > 0 {
			b.logf("all Complete after %s", all.Round(time.Millisecond))
		}
		if err := b.cluster.deleteNamespace(ctx, t.namespace(), t.size); err != nil {
			return err
		}
		if err := b.cluster.forget(t); err != nil {
			return err
		}
	}
	return nil
}

// runTrial begins with controllers just started and an empty namespace.
func (b *bench) runTrial(ctx context.Context, t trial) (measurement, error) {
	m := measurement{column: t.column, scenario: t.scenario, size: t.size, repeat: t.repeat}
	if err := b.cluster.use(ctx, t, b.options); err != nil {
		return m, fmt.Errorf("start the controllers: %w", err)
	}
	b.note(versions(b.cluster.processes()))
	if err := b.cluster.createNamespace(ctx, t.namespace()); err != nil {
		return m, err
	}
	if err := b.cluster.quiet(ctx, b.options.quiet); err != nil {
		return m, err
	}
	w := &window{bench: b, measurement: &m, namespace: t.namespace()}
	var err error
	switch s := scenarioOf(t.scenario); {
	case s.scheduled:
		err = w.cronJobs(ctx)
	case s.oneJob:
		err = w.oneJob(ctx)
	case s.name == scenarioIdle:
		err = w.idle(ctx)
	case s.name == scenarioRunning:
		err = w.runningJobs(ctx)
	default:
		err = w.jobs(ctx)
	}
	return m, err
}

// note keeps versions that were not seen before.
func (b *bench) note(versions []string) {
	for _, version := range versions {
		if !slices.Contains(b.versions, version) {
			b.versions = append(b.versions, version)
		}
	}
}

// window measures one scenario.
type window struct {
	*bench
	measurement *measurement
	namespace   string
	meter       *usageMeter
	// opened is when counting began; writes and calls are the counters then.
	opened        time.Time
	writes, calls counts
	profiles      <-chan profileResult
}

// lag is how long to wait before counters are read.
func (w *window) lag() time.Duration {
	if !w.measurement.column.ostinato {
		return 0
	}
	return metricsFlush
}

// open reads the counters from which the scenario counts.
func (w *window) open(ctx context.Context) error {
	var err error
	if w.meter == nil {
		if w.meter, err = startUsage(w.cluster.processes()); err != nil {
			return err
		}
	}
	if err := pause(ctx, w.lag()); err != nil {
		return err
	}
	if w.calls, err = w.cluster.calls(ctx); err != nil {
		return err
	}
	if w.writes, err = kubernetesWrites(ctx, w.cluster.Kubernetes); err != nil {
		return err
	}
	w.opened = time.Now()
	return w.meter.restartCPU()
}

// record shows the observer what happens from now on; the caller stops the recorder.
func (w *window) record(ctx context.Context, o observer) (*recorder, error) {
	return startRecorder(ctx, w.cluster.Kubernetes, w.namespace, o)
}

// follow waits until the observer has seen everything end, with a profile where one is asked for, and reads the counters.
func (w *window) follow(ctx context.Context, r *recorder, start time.Time) error {
	m := w.measurement
	patience := w.options.patience(m.column, m.size)
	limited, cancel := context.WithTimeoutCause(ctx, time.Until(start)+patience, fmt.Errorf("not done within %s", patience))
	defer cancel()
	if err := r.wait(limited, w.cluster.alive); err != nil {
		return err
	}
	if err := pause(ctx, trailing); err != nil {
		return err
	}
	if err := w.readUsage(); err != nil {
		return err
	}
	r.stop()
	if err := w.takeProfiles(ctx); err != nil {
		return err
	}
	return w.close(ctx)
}

// readUsage ends the time over which usage is measured.
func (w *window) readUsage() error {
	m := w.measurement
	var err error
	m.usage, err = w.meter.read()
	m.elapsed, m.peaksReset = time.Since(w.opened), w.meter.peaksReset
	return err
}

func (w *window) close(ctx context.Context) error {
	m := w.measurement
	writes, err := kubernetesWrites(ctx, w.cluster.Kubernetes)
	if err != nil {
		return err
	}
	m.writes = writes.since(w.writes)
	if w.calls == nil {
		return nil
	}
	if err := pause(ctx, metricsFlush); err != nil {
		return err
	}
	calls, err := w.cluster.calls(ctx)
	m.calls = calls.since(w.calls)
	return err
}

// jobs creates all Jobs at once.
func (w *window) jobs(ctx context.Context) error {
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
	w.startProfiles(ctx)
	start := time.Now()
	if err := w.cluster.createJobs(ctx, w.namespace, m.column.ostinato, m.size, time.Time{}); err != nil {
		return err
	}
	m.created = time.Since(start)
	if err := w.follow(ctx, r, start); err != nil {
		return err
	}
	m.spans, m.pods = line.spans(start), line.progress().pods
	return nil
}
