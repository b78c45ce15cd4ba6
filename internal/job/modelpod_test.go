package job_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// modelPod is a Pod as the API server has it.
type modelPod struct {
	name, uid string
	// attempt is what Ostinato made the name from; 0 for a Pod of others.
	attempt int64
	index   *int32
	// failures and ignored are the failure count annotations.
	failures, ignored int32
	phase             corev1.PodPhase
	ready             bool
	deleting          bool
	tracked           bool
	gone              bool
	disowned          bool
	restarts          int32
	node              string
	started, ended    time.Time
	pending           job.PendingReason
	pendingSince      time.Time
	exits             []job.Exit
	conditions        []string
	version           int64
	// disturbed Pods were deleted by someone, maybe before it was known how they ended.
	disturbed bool
	// foreign Pods were not made by Ostinato.
	foreign bool
	// noted Pods were counted by the controller that the Job was taken over from.
	noted bool
	// logged Pods were released with their log read.
	logged bool
	// removed Pods carry the annotation of a removal.
	removed bool
	// stuck Pods can't be deleted or released: a webhook does not answer.
	stuck bool
}

func (p *modelPod) terminal() bool {
	return p.gone || p.phase == corev1.PodSucceeded || p.phase == corev1.PodFailed
}

// disturb notes that it does not matter any more how the Pod ends, if it has not ended.
func (p *modelPod) disturb() { p.disturbed = p.disturbed || !p.terminal() }

func (p *modelPod) active() bool { return !p.terminal() && !p.deleting && !p.disowned }

func (p *modelPod) running() bool { return !p.terminal() && !p.disowned }

func (p *modelPod) fact() job.PodFact {
	fact := job.PodFact{
		Name: p.name, UID: p.uid, Attempt: p.attempt, Index: p.index, Version: p.version, Phase: p.phase, Ready: p.ready,
		Deleting: p.deleting, Tracked: p.tracked, Gone: p.gone, Disowned: p.disowned, Removed: p.removed, Restarts: p.restarts,
		Started: p.started, Finished: p.ended, Failures: p.failures, Ignored: p.ignored, Node: p.node,
	}
	if p.phase == corev1.PodPending {
		fact.Pending = p.pending
		if p.pending != "" {
			fact.PendingMessage, fact.PendingSince = "waits for "+string(p.pending), p.pendingSince
		}
	}
	if p.phase == corev1.PodFailed {
		fact.Exits, fact.Conditions = p.exits, p.conditions
		fact.Reason = "Error"
		if len(p.exits) > 0 {
			fact.Container, fact.ExitCode = p.exits[0].Container, p.exits[0].Code
		}
	}
	return fact
}

func (c *cluster) newPod(name string) *modelPod {
	pod := &modelPod{name: name, uid: uidOf(len(c.pods) + 1), phase: corev1.PodPending, pending: job.PendingUnschedulable, tracked: true}
	c.pods = append(c.pods, pod)
	return pod
}

// adopt makes a Pod the Job's that someone else has made.
func (c *cluster) adopt(index *int32) *modelPod {
	pod := c.newPod(fmt.Sprintf("stranger-%d", len(c.pods)+1))
	pod.index, pod.foreign = index, true
	c.changed(pod)
	return pod
}

// delete is what the API server does on a DELETE.
func (c *cluster) delete(pod *modelPod) {
	if pod.gone {
		return
	}
	pod.disturb()
	pod.deleting, pod.ready = true, false
	c.changed(pod)
}

// vanish is a forced removal, finalizer and all.
func (c *cluster) vanish(pod *modelPod) {
	pod.disturbed, pod.gone, pod.deleting, pod.tracked, pod.ready = true, true, true, false, false
	c.changed(pod)
}

// disown is what becomes of a Pod whose labels match the selector no more.
func (c *cluster) disown(pod *modelPod) {
	pod.disturbed, pod.disowned, pod.tracked = true, true, false
	c.changed(pod)
}

// begin lets a Pod run, or its container restart.
func (c *cluster) begin(pod *modelPod) {
	if pod.phase == corev1.PodRunning {
		pod.ready = !pod.ready
		pod.restarts++
	} else {
		pod.phase, pod.ready, pod.started, pod.node = corev1.PodRunning, true, c.now.Truncate(time.Second), "node-1"
	}
	c.changed(pod)
}

// end lets a Pod reach a terminal phase.
func (c *cluster) end(pod *modelPod, phase corev1.PodPhase) {
	pod.phase, pod.ready, pod.ended = phase, false, c.now
	c.changed(pod)
}

func (c *cluster) endWell(pod *modelPod) { c.end(pod, corev1.PodSucceeded) }

func (c *cluster) endBadly(pod *modelPod) { c.exit(pod, job.Exit{Container: "main", Code: 1}) }

// exit lets a Pod fail with the exit codes of its containers.
func (c *cluster) exit(pod *modelPod, exits ...job.Exit) {
	pod.exits = exits
	c.end(pod, corev1.PodFailed)
}

// disrupt is an eviction: the kubelet ends the Pod and says why.
func (c *cluster) disrupt(pod *modelPod) {
	pod.conditions = []string{"Ready=False", "DisruptionTarget=True"}
	c.exit(pod, job.Exit{Container: "main", Code: 137})
}

// changed posts a Pod's fact; a deleted Pod that ended and is not held by the
// finalizer vanishes.
func (c *cluster) changed(pod *modelPod) {
	if pod.deleting && pod.terminal() && !pod.tracked {
		pod.gone = true
	}
	c.version++
	pod.version = c.version
	c.mailbox = append(c.mailbox, pod.fact())
}

// each applies an action to the first count active Pods.
func (c *cluster) each(count int, action func(*modelPod)) *cluster {
	c.t.Helper()
	active := c.activePods()
	if len(active) < count {
		c.t.Fatalf("%d Pods are active, want at least %d", len(active), count)
	}
	for _, pod := range active[:count] {
		action(pod)
	}
	return c
}

func (c *cluster) run(count int) *cluster     { return c.each(count, c.begin) }
func (c *cluster) succeed(count int) *cluster { return c.each(count, c.endWell) }
func (c *cluster) fail(count int) *cluster    { return c.each(count, c.endBadly) }

// drain lets all Pods that are being deleted end.
func (c *cluster) drain() *cluster {
	for _, pod := range c.pods {
		if pod.deleting && !pod.terminal() {
			c.end(pod, corev1.PodFailed)
		}
	}
	return c
}

func (c *cluster) activePods() []*modelPod {
	var active []*modelPod
	for _, pod := range c.pods {
		if pod.active() {
			active = append(active, pod)
		}
	}
	return active
}
