package job_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)

// fatal is what both *testing.T and *rapid.T can do.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// cluster is a model of the API server, the node and the Job workflow around the
// planner. Facts wait in the mailbox until they are delivered.
type cluster struct {
	t      fatal
	config job.Config
	spec   job.Spec
	state  job.State
	now    time.Time

	status   batchv1.JobStatus
	pods     []*modelPod
	mailbox  []job.PodFact
	version  int64
	wake     job.Wake
	waiting  string
	finished *job.Result

	// refuseCreates and refuseStatus make the API server refuse that many times; a
	// refused create may have happened nevertheless when loseCreates is set.
	refuseCreates, refuseStatus int
	loseCreates                 bool

	// writes are the statuses accepted, creates and events all that were asked for.
	writes  []batchv1.JobStatus
	creates []job.Create
	events  []event.Event
}

type modelPod struct {
	name, uid string
	phase     corev1.PodPhase
	ready     bool
	deleting  bool
	tracked   bool
	gone      bool
	restarts  int32
	ended     time.Time
	version   int64
	// disturbed Pods were deleted by someone, maybe before it was known how they ended.
	disturbed bool
}

func newCluster(t fatal, spec job.Spec) *cluster {
	if spec.RestartPolicy == "" {
		spec.RestartPolicy = corev1.RestartPolicyNever
	}
	return &cluster{t: t, config: job.DefaultConfig(), spec: spec, state: job.NewState("default", "work", "uid-1"), now: start}
}

func (p *modelPod) terminal() bool {
	return p.gone || p.phase == corev1.PodSucceeded || p.phase == corev1.PodFailed
}

func (p *modelPod) active() bool { return !p.terminal() && !p.deleting }

// settle plans and carries out until there is nothing left to do.
func (c *cluster) settle() *cluster {
	c.t.Helper()
	for range 100 {
		outcome := job.Plan(c.config, c.state, c.spec, c.now)
		c.wake, c.waiting = outcome.Wake, outcome.Waiting
		if outcome.Finished != nil {
			c.finished = outcome.Finished
		}
		if outcome.Idle() {
			c.state = c.roundTrip(outcome.Next)
			return c
		}
		if outcome.List {
			c.state = c.state.Listed(c.list(), c.now)
			continue
		}
		c.execute(outcome)
	}
	c.t.Fatalf("planning does not come to rest: %+v", job.Plan(c.config, c.state, c.spec, c.now))
	return c
}

func (c *cluster) execute(outcome job.PlanOutcome) {
	c.t.Helper()
	c.checkOutcome(outcome)
	report := job.Report{}
	for _, create := range outcome.Creates {
		pod, refused := c.create(create)
		if refused {
			report.CreateRefused = "exceeded quota"
			break
		}
		report.Created = append(report.Created, job.CreatedPod{Name: pod.name, UID: pod.uid})
	}
	for _, deletion := range outcome.Deletes {
		pod := c.byUID(deletion.UID)
		pod.disturbed = true
		if deletion.Untrack {
			pod.tracked = false
		}
		c.delete(pod)
	}
	if report.CreateRefused == "" {
		if outcome.Status != nil {
			report.StatusRefused = c.write(*outcome.Status)
		}
		if report.StatusRefused == "" {
			for _, release := range outcome.Releases {
				pod := c.byUID(release.UID)
				pod.tracked = false
				c.changed(pod)
			}
			c.events = append(c.events, outcome.Events...)
		}
	}
	c.state = c.roundTrip(job.Executed(c.config, c.state, outcome, report, c.now))
}

// checkOutcome asserts what must hold for every outcome.
func (c *cluster) checkOutcome(outcome job.PlanOutcome) {
	c.t.Helper()
	if len(outcome.Creates) > 0 && len(outcome.Deletes) > 0 {
		c.t.Fatalf("creates and deletes in one outcome: %+v", outcome)
	}
	if outcome.Next.Succeeded < c.state.Succeeded || outcome.Next.Failed < c.state.Failed {
		c.t.Fatalf("counters fall from %d, %d to %d, %d", c.state.Succeeded, c.state.Failed, outcome.Next.Succeeded, outcome.Next.Failed)
	}
	for _, release := range outcome.Releases {
		if pod := find(outcome.Next, release.UID); pod == nil || pod.Fate == job.Undecided {
			c.t.Fatalf("Pod %s is released without a recorded fate", release.Name)
		}
	}
	for _, create := range outcome.Creates {
		for _, other := range c.creates {
			if (other.Name == create.Name) != (other.Attempt == create.Attempt) {
				c.t.Fatalf("creates %+v and %+v share a name or an attempt", other, create)
			}
		}
	}
}

func (c *cluster) create(create job.Create) (pod *modelPod, refused bool) {
	c.creates = append(c.creates, create)
	refused = c.refuseCreates > 0
	if refused {
		c.refuseCreates--
	}
	for _, pod := range c.pods {
		if pod.name == create.Name && !pod.gone {
			return pod, refused
		}
	}
	if refused && !c.loseCreates {
		return nil, true
	}
	pod = &modelPod{
		name: create.Name, uid: fmt.Sprintf("pod-%d", len(c.pods)+1),
		phase: corev1.PodPending, tracked: true,
	}
	c.pods = append(c.pods, pod)
	c.changed(pod)
	if active := c.activePods(); int32(len(active)) > c.spec.Parallelism {
		c.t.Fatalf("%d Pods are active, parallelism is %d", len(active), c.spec.Parallelism)
	}
	return pod, refused
}

func (c *cluster) write(status batchv1.JobStatus) (refusal string) {
	c.t.Helper()
	if c.refuseStatus > 0 {
		c.refuseStatus--
		return "conflict"
	}
	if err := validateStatus(c.status, status, c.spec); err != nil {
		c.t.Fatalf("the API server refuses the status: %v", err)
	}
	c.status = status
	c.writes = append(c.writes, status)
	return ""
}

// delete is what the API server does on a DELETE.
func (c *cluster) delete(pod *modelPod) {
	if pod.gone {
		return
	}
	if !pod.terminal() {
		pod.disturbed = true
	}
	pod.deleting, pod.ready = true, false
	c.changed(pod)
}

// end lets a Pod reach a terminal phase.
func (c *cluster) end(pod *modelPod, phase corev1.PodPhase) {
	pod.phase, pod.ready, pod.ended = phase, false, c.now
	c.changed(pod)
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

func (p *modelPod) fact() job.PodFact {
	fact := job.PodFact{
		Name: p.name, UID: p.uid, Version: p.version, Phase: p.phase, Ready: p.ready,
		Deleting: p.deleting, Tracked: p.tracked, Gone: p.gone, Restarts: p.restarts, Finished: p.ended,
	}
	if p.phase == corev1.PodFailed {
		fact.ExitCode, fact.Reason = 1, "Error"
	}
	return fact
}

// deliver hands over all waiting facts.
func (c *cluster) deliver() *cluster {
	c.hear(c.mailbox...)
	c.mailbox = nil
	return c
}

func (c *cluster) hear(facts ...job.PodFact) {
	c.state = c.roundTrip(c.state.Observe(facts).Heard(c.now))
}

// pass lets time go by.
func (c *cluster) pass(duration time.Duration) *cluster {
	c.now = c.now.Add(duration)
	return c
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

func (c *cluster) run(count int) *cluster {
	return c.each(count, func(pod *modelPod) { pod.phase, pod.ready = corev1.PodRunning, true; c.changed(pod) })
}

func (c *cluster) succeed(count int) *cluster {
	return c.each(count, func(pod *modelPod) { c.end(pod, corev1.PodSucceeded) })
}

func (c *cluster) fail(count int) *cluster {
	return c.each(count, func(pod *modelPod) { c.end(pod, corev1.PodFailed) })
}

// drain lets all Pods that are being deleted end.
func (c *cluster) drain() *cluster {
	for _, pod := range c.pods {
		if pod.deleting && !pod.terminal() {
			c.end(pod, corev1.PodFailed)
		}
	}
	return c
}

// list is what the ListPods activity answers.
func (c *cluster) list() job.List {
	var list job.List
	for _, pod := range c.pods {
		if pod.gone {
			continue
		}
		attempt, _ := names.PodAttempt("work", "uid-1", pod.name)
		list.Attempts = max(list.Attempts, attempt)
		if !pod.terminal() || pod.tracked || slices.Contains(c.state.Undecided(), pod.uid) {
			list.Pods = append(list.Pods, pod.fact())
		}
	}
	return list
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

func (c *cluster) byUID(uid string) *modelPod {
	c.t.Helper()
	for _, pod := range c.pods {
		if pod.uid == uid {
			return pod
		}
	}
	c.t.Fatalf("there is no Pod with UID %q", uid)
	return nil
}

// roundTrip is what continue-as-new does to a State.
func (c *cluster) roundTrip(state job.State) job.State {
	c.t.Helper()
	data, err := json.Marshal(state)
	if err != nil {
		c.t.Fatalf("encode state: %v", err)
	}
	var copied job.State
	if err := json.Unmarshal(data, &copied); err != nil {
		c.t.Fatalf("decode state: %v", err)
	}
	return copied
}

func (c *cluster) reasons() []string {
	reasons := []string{}
	for _, event := range c.events {
		reasons = append(reasons, event.Reason)
	}
	return reasons
}

func find(state job.State, uid string) *job.Pod {
	for i := range state.Pods {
		if state.Pods[i].UID == uid {
			return &state.Pods[i]
		}
	}
	return nil
}

func pointer[T any](value T) *T { return &value }
