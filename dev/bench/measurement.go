package main

import "time"

// measurement is what one column did in one scenario, once.
type measurement struct {
	column   column
	scenario string
	size     int
	// repeat counts from 0.
	repeat int
	// created is how long the bench took to create the objects.
	created time.Duration
	// armed is how long after the first create, or the start of worker and bridge in scenario idle, Ostinato had taken over
	// every CronJob; 0 where that cannot be seen.
	armed time.Duration
	// setupCPU is the processor time of all processes from then until all were armed.
	setupCPU time.Duration
	// running is how long after the first create all Pods ran; restarted how long after a kill all that was killed was
	// ready again. 0 in scenarios that have no such thing.
	running, restarted time.Duration
	spans              spans
	pods               int
	usage              []processUsage
	// elapsed is the time usage was measured over.
	elapsed time.Duration
	// peaksReset tells that peaks of memory are of this scenario alone.
	peaksReset bool
	// writes and calls are to Kubernetes and to Temporal, whole numbers for all runs together.
	writes, calls counts
	profiles      []profile
	// steady is what happened while nothing was to be done; its time is 0 in scenarios without such a time.
	steady steady
	// one is what only the scenarios of one Job have; nil in others.
	one *oneJob
}

// all is how long everything took.
func (m measurement) all() time.Duration {
	if m.one != nil {
		return m.one.complete
	}
	return m.spans.all
}
