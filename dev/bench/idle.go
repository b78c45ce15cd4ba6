package main

import (
	"context"
	"time"
)

// farOff is how long after now idle CronJobs are due.
const farOff = 180 * 24 * time.Hour

// idle creates all CronJobs before worker and bridge start, and then does nothing for a while. None is due.
func (w *window) idle(ctx context.Context) error {
	m := w.measurement
	armed, err := w.watchArmed(ctx)
	if err != nil {
		return err
	}
	defer armed.stop()
	created := time.Now()
	if err := w.cluster.createCronJobs(ctx, w.namespace, m.column.native(), schedule(created.Add(farOff)), m.size); err != nil {
		return err
	}
	m.created = time.Since(created)
	if err := w.cluster.quiet(ctx, w.options.quiet); err != nil {
		return err
	}
	if w.meter, err = startUsage(w.cluster.processes()); err != nil {
		return err
	}
	w.opened = time.Now()
	if m.column.ostinato {
		if err := w.coldStart(ctx, armed); err != nil {
			return err
		}
	}
	if err := w.cluster.quiet(ctx, w.options.quiet); err != nil {
		return err
	}
	return w.rest(ctx)
}

// coldStart starts worker and bridge, which find all CronJobs there.
func (w *window) coldStart(ctx context.Context, armed *recorder) error {
	m := w.measurement
	if err := w.cluster.startOwn(ctx); err != nil {
		return err
	}
	w.meter.join(w.cluster.controllers())
	w.startProfiles(ctx)
	if err := w.arm(ctx, armed, w.opened, w.opened.Add(w.options.patience(m.column, m.size))); err != nil {
		return err
	}
	w.logf("all were taken over after %s", seconds(m.armed))
	if err := w.readSetup(); err != nil {
		return err
	}
	if err := w.readUsage(); err != nil {
		return err
	}
	return w.takeProfiles(ctx)
}

// idleTable are the figures of CronJobs that are not due.
func idleTable(name string, groups []group) table {
	t := header(name, "", groups)
	t.timeRow("creating the CronJobs took the bench", groups, func(m measurement) time.Duration { return m.created })
	t.timeRow("all CronJobs taken over after worker and bridge started", groups, func(m measurement) time.Duration { return m.armed })
	t.timeRow("processor time until then, all processes", groups, func(m measurement) time.Duration { return m.setupCPU })
	return t
}
