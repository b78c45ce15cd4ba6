package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ostinato.dev/ostinato/dev/devstack/process"
)

// failOver kills what runs the CronJobs at the due time, without warning, and starts it again at once: worker and bridge, or
// kube-controller-manager. Profiles begin with the new processes.
func (w *window) failOver(ctx context.Context, due time.Time) error {
	victims := w.cluster.controllers()
	if err := pause(ctx, time.Until(due)); err != nil {
		return err
	}
	if err := w.meter.leave(victims); err != nil {
		return err
	}
	// Counters of Temporal calls begin anew in the new processes.
	w.calls = nil
	killed := time.Now()
	if err := w.cluster.restartControllers(ctx, w.measurement.column); err != nil {
		return fmt.Errorf("start again what was killed: %w", err)
	}
	w.measurement.restarted = time.Since(killed)
	w.logf("killed %d processes at %s after the due time; ready again after %s", len(victims), seconds(killed.Sub(due)), seconds(w.measurement.restarted))
	w.meter.join(w.cluster.controllers())
	w.startProfiles(ctx)
	return nil
}

// controllers are the processes that the column is about.
func (c *cluster) controllers() []*process.Process {
	var all []*process.Process
	for _, p := range c.processes() {
		switch kind := numbered.ReplaceAllString(p.Name(), ""); {
		case kind == "worker", kind == "bridge", c.ostinato == nil && kind == controllerManager:
			all = append(all, p)
		}
	}
	return all
}

const controllerManager = "kube-controller-manager"

// restartControllers kills them all, and then starts others.
func (c *cluster) restartControllers(ctx context.Context, column column) error {
	if c.ostinato == nil {
		for _, p := range c.controllers() {
			if err := p.Kill(); err != nil {
				return err
			}
		}
		return c.plane.StartControllerManager(ctx, column.manager)
	}
	if err := errors.Join(c.ostinato.KillWorker(0), c.ostinato.KillBridge(0)); err != nil {
		return err
	}
	return c.startOwn(ctx)
}

// startOwn starts a worker and a bridge.
func (c *cluster) startOwn(ctx context.Context) error {
	if err := c.ostinato.StartWorker(ctx); err != nil {
		return err
	}
	return c.ostinato.StartBridge(ctx)
}
