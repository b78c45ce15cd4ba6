package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// trailing is how long after the last Complete processor time still counts: workflows close, Events are written.
	trailing = 2 * time.Second
	// metricsFlush is how long the Temporal SDK's metrics may lag behind.
	metricsFlush = 6 * time.Second
)

// measurement is what one column did in one scenario.
type measurement struct {
	column   column
	scenario string
	size     int
	// created is how long the bench took to create the objects.
	created time.Duration
	// armed is how long after the first create Ostinato had taken over every CronJob; 0 where that cannot be seen.
	armed time.Duration
	// setupCPU is the processor time of all processes from the first create of a CronJob until all were armed.
	setupCPU time.Duration
	spans    spans
	pods     int
	usage    []processUsage
	// elapsed is the time usage was measured over.
	elapsed time.Duration
	// peaksReset tells that peaks of memory are of this scenario alone.
	peaksReset bool
	// writes and calls are to Kubernetes and to Temporal, whole numbers for all runs together.
	writes, calls counts
	profiles      []profile
	// one is what only the scenarios of one Job have; nil in others.
	one *oneJob
}

// bench runs columns and scenarios.
type bench struct {
	options options
	cluster *cluster
	log     io.Writer
	results []measurement
	// versions are those of what ran last.
	versions []string
}

func (b *bench) logf(format string, arguments ...any) {
	fmt.Fprintf(b.log, "%s bench: %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, arguments...))
}

// runColumns measures everything asked for; results holds what was done when it fails.
func (b *bench) runColumns(ctx context.Context) error {
	for _, c := range b.options.columns {
		if !slices.ContainsFunc(b.options.scenarios, func(scenario string) bool { return len(b.options.sizesOf(c, scenario)) > 0 }) {
			b.logf("column %s is left out: at more than %d objects it takes minutes (--full)", c.name, slowLimit)
			continue
		}
		b.logf("column %s: starting its controllers", c.name)
		if err := b.cluster.use(ctx, c, b.options); err != nil {
			return fmt.Errorf("start the controllers of column %s: %w", c.name, err)
		}
		b.versions = versions(b.cluster.processes())
		for _, scenario := range b.options.scenarios {
			for _, size := range b.options.sizesOf(c, scenario) {
				m, err := b.runScenario(ctx, c, scenario, size)
				if err != nil {
					return fmt.Errorf("column %s, %d %s: %w", c.name, size, scenario, err)
				}
				b.results = append(b.results, m)
				b.logf("column %s: all Complete after %s; cleaning up", c.name, m.all().Round(time.Millisecond))
				if err := b.cluster.deleteNamespace(ctx, namespaceOf(c, scenario, size), size); err != nil {
					return err
				}
			}
		}
	}
	return b.cluster.stopOstinato()
}

func (b *bench) runScenario(ctx context.Context, c column, scenario string, size int) (measurement, error) {
	m := measurement{column: c, scenario: scenario, size: size}
	namespace := namespaceOf(c, scenario, size)
	if err := b.cluster.createNamespace(ctx, namespace); err != nil {
		return m, err
	}
	if err := b.cluster.quiet(ctx, b.options.quiet); err != nil {
		return m, err
	}
	w := &window{bench: b, measurement: &m, namespace: namespace}
	b.logf("column %s: %s", c.name, b.options.title(scenario, size))
	var err error
	switch scenario {
	case scenarioJobs:
		err = w.jobs(ctx)
	case scenarioCronJobs:
		err = w.cronJobs(ctx)
	default:
		err = w.oneJob(ctx)
	}
	return m, err
}

func namespaceOf(c column, scenario string, size int) string {
	return fmt.Sprintf("bench-%s-%s-%d", c.name, scenario, size)
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

// open reads the counters from which the scenario counts.
func (w *window) open(ctx context.Context) error {
	var err error
	if w.meter == nil {
		if w.meter, err = startUsage(w.cluster.processes()); err != nil {
			return err
		}
	}
	if err := pause(ctx, metricsFlush); err != nil {
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
	var err error
	if m.usage, err = w.meter.read(); err != nil {
		return err
	}
	m.elapsed = time.Since(w.opened)
	m.peaksReset = w.meter.peaksReset
	r.stop()
	if err := w.takeProfiles(ctx); err != nil {
		return err
	}
	return w.close(ctx)
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
	if err := w.cluster.createJobs(ctx, w.namespace, m.column.ostinato, m.size); err != nil {
		return err
	}
	m.created = time.Since(start)
	if err := w.follow(ctx, r, start); err != nil {
		return err
	}
	m.spans, m.pods = line.spans(start), line.progress().pods
	return nil
}

// cronJobs creates all CronJobs well before they are due.
func (w *window) cronJobs(ctx context.Context) error {
	m := w.measurement
	var err error
	if w.meter, err = startUsage(w.cluster.processes()); err != nil {
		return err
	}
	start := time.Now()
	times := w.options.dueTimes(start, m.size)
	if err := w.cluster.createCronJobs(ctx, w.namespace, m.column.ostinato, times, m.size); err != nil {
		return err
	}
	m.created = time.Since(start)
	if m.column.ostinato {
		if err := w.arm(ctx, start, times[0]); err != nil {
			return err
		}
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
	if err := pause(ctx, time.Until(due)-metricsFlush-2*time.Second); err != nil {
		return err
	}
	if err := w.open(ctx); err != nil {
		return err
	}
	if time.Now().After(due) {
		return fmt.Errorf("the CronJobs were due before the measurement was ready: use a longer --lead than %s", due.Sub(start))
	}
	w.startProfiles(ctx)
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

// arm waits until Ostinato has taken over every CronJob.
func (w *window) arm(ctx context.Context, start, due time.Time) error {
	m := w.measurement
	err := wait.PollUntilContextCancel(ctx, 250*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		count, err := w.cluster.armed(ctx, w.namespace)
		if err != nil || count == m.size {
			return err == nil, err
		}
		if time.Now().After(due) {
			return false, fmt.Errorf("only %d of %d CronJobs had a next schedule time in their status when they were due, %s after the first create; use --lead",
				count, m.size, time.Since(start).Round(time.Second))
		}
		return false, w.cluster.alive()
	})
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		m.armed = time.Since(start)
	}
	return err
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
