package main

import (
	"context"
	"fmt"
	"time"

	"ostinato.dev/ostinato/internal/names"
)

// oneJob creates one Indexed Job of many Pods.
func (w *window) oneJob(ctx context.Context) error {
	m := w.measurement
	pods := newSwarm(m.size)
	r, err := w.record(ctx, &midway{swarm: pods, reached: func() { w.startProfiles(ctx) }})
	if err != nil {
		return err
	}
	defer r.stop()
	if err := w.open(ctx); err != nil {
		return err
	}
	start := time.Now()
	parallelism, until := min(w.options.parallelism, m.size), time.Time{}
	if m.scenario == scenarioTogether {
		parallelism, until = m.size, start.Add(w.options.runTime(m.scenario, m.column, m.size))
	}
	job := newOneJob(w.cluster.kwok.Name(), m.column.ostinato, int32(m.size), int32(parallelism), until)
	if err := w.cluster.createOneJob(ctx, w.namespace, job); err != nil {
		return err
	}
	if err := w.follow(ctx, r, start); err != nil {
		return err
	}
	m.one = pods.figures(start)
	if m.scenario == scenarioTogether && m.one.maxRunning < m.size {
		return fmt.Errorf("only %d of %d Pods ran at once before they ended: use a longer --run than %s", m.one.maxRunning, m.size, w.options.runTime(m.scenario, m.column, m.size))
	}
	if m.column.ostinato {
		m.one.histories, err = w.cluster.histories(ctx, names.Cluster("").JobWorkflowID(w.namespace, oneJobName))
	}
	return err
}

// midway calls reached once, when half of the Pods have ended: a profile taken then shows neither start nor end.
type midway struct {
	*swarm
	reached func()
}

func (m *midway) done() (bool, error) {
	if m.reached != nil && m.half() {
		m.reached()
		m.reached = nil
	}
	return m.swarm.done()
}
