package job_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
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
	// reread makes the workflow look at the cluster after a refused status, as the
	// real one does.
	reread bool
	// bulk is the number of creates and deletes above which they are carried out
	// alone, and the rest is planned again; 0 means never.
	bulk int
	// logs is what becomes of the logs that releases ask for.
	logs logMode
	// roundTrips makes every State go through JSON.
	roundTrips bool
	// ledger counts along, where a test wants it to.
	ledger *ledger

	// forgotten is how many of the creates were asked for by a workflow that was lost.
	forgotten int

	// writes are the statuses accepted, creates, removed (Pods deleted untracked),
	// events and handled all that were asked for.
	writes  []batchv1.JobStatus
	creates []job.Create
	removed []string
	events  []event.Event
	handled map[batchv1.PodFailurePolicyAction]int32
}

type logMode int

const (
	logsRead logMode = iota
	logsMissing
	logsLate
)

func newCluster(t fatal, spec job.Spec) *cluster {
	if spec.RestartPolicy == "" {
		spec.RestartPolicy = "Never"
	}
	return &cluster{
		t: t, config: job.DefaultConfig(), spec: spec, state: job.NewState("default", "work", "uid-1"), now: start,
		roundTrips: true, handled: map[batchv1.PodFailurePolicyAction]int32{},
	}
}

// settle plans and carries out until there is nothing left to do.
func (c *cluster) settle() *cluster {
	c.t.Helper()
	for range 100 {
		plan := c.plan()
		c.wake, c.waiting = plan.Wake, plan.Waiting
		if plan.Finished != nil {
			c.finished = plan.Finished
		}
		if plan.Idle() {
			c.state = c.roundTrip(plan.Next)
			return c
		}
		switch {
		case plan.Rebuild:
			c.rebuild()
		case plan.List:
			c.listed()
		default:
			c.execute(plan)
		}
	}
	c.t.Fatalf("planning does not come to rest: %+v", job.Decide(c.config, c.state, c.spec, c.now))
	return c
}

func (c *cluster) plan() job.Plan {
	c.t.Helper()
	plan := job.Decide(c.config, c.state, c.spec, c.now)
	c.checkPlan(plan)
	if c.ledger != nil {
		c.ledger.plan(plan)
	}
	return plan
}

func (c *cluster) execute(plan job.Plan) {
	c.t.Helper()
	report := job.Report{PodsOnly: c.bulk > 0 && len(plan.Creates)+len(plan.Deletes) > c.bulk}
	for _, create := range plan.Creates {
		pod, refused := c.create(create)
		if refused {
			report.CreateRefused = "exceeded quota"
			if report.NameTaken = pod != nil && pod.disowned; report.NameTaken && c.ledger != nil {
				c.ledger.giveUp(pod)
			}
			break
		}
		report.Created = append(report.Created, job.CreatedPod{Name: pod.name, UID: pod.uid})
		if c.ledger != nil {
			c.ledger.created(pod)
		}
	}
	for _, deletion := range plan.Deletes {
		pod := c.byUID(deletion.UID)
		pod.disturbed = true
		if deletion.Release {
			pod.tracked = false
			c.removed = append(c.removed, pod.uid)
		}
		c.delete(pod)
	}
	if report.CreateRefused == "" && !report.PodsOnly {
		if plan.Status != nil {
			report.StatusRefused = c.write(*plan.Status)
		}
		if report.StatusRefused == "" {
			report.Logs = c.release(plan.Releases)
			c.events = append(c.events, plan.Events...)
			for action, count := range plan.Handled {
				c.handled[action] += count
			}
		}
	}
	c.state = c.roundTrip(job.Apply(plan, report, c.now))
	if report.StatusRefused != "" && c.reread {
		c.state, _ = c.state.Reread(c.spec, c.spec, c.status)
		if c.ledger != nil {
			c.ledger.rebase()
		}
	}
}

func (c *cluster) release(releases []job.Release) []job.PodLog {
	var logs []job.PodLog
	for _, release := range releases {
		pod := c.byUID(release.UID)
		if release.Logs {
			pod.logged = true
			switch c.logs {
			case logsRead:
				logs = append(logs, job.PodLog{UID: pod.uid, Lines: "last words of " + pod.name})
			case logsMissing:
				logs = append(logs, job.PodLog{UID: pod.uid, Missing: "the node is gone"})
			case logsLate:
			}
		}
		pod.tracked = false
		c.changed(pod)
		if c.ledger != nil {
			c.ledger.released(pod.uid)
		}
	}
	return logs
}

// checkPlan asserts what must hold for every plan.
func (c *cluster) checkPlan(plan job.Plan) {
	c.t.Helper()
	if len(plan.Creates) > 0 && len(plan.Deletes) > 0 {
		c.t.Fatalf("creates and deletes in one outcome: %+v", plan)
	}
	clipped := c.indexed() && c.state.Completed.Below(*c.spec.Completions).Len() < c.state.Completed.Len()
	if plan.Next.Succeeded < c.state.Succeeded && !clipped || plan.Next.Failed < c.state.Failed {
		c.t.Fatalf("counters fall from %d, %d to %d, %d", c.state.Succeeded, c.state.Failed, plan.Next.Succeeded, plan.Next.Failed)
	}
	for _, release := range plan.Releases {
		if pod := find(plan.Next, release.UID); pod == nil || pod.Fate == job.Undecided {
			c.t.Fatalf("Pod %s is released without a recorded fate", release.Name)
		}
	}
	for _, create := range plan.Creates {
		if c.indexed() != (create.Index != nil) {
			c.t.Fatalf("create %+v of a Job with completion mode %q", create, c.spec.CompletionMode)
		}
		for _, other := range c.creates[c.forgotten:] {
			if (other.Name == create.Name) != (other.Attempt == create.Attempt) {
				c.t.Fatalf("creates %+v and %+v share a name or an attempt", other, create)
			}
		}
	}
}

func (c *cluster) create(create job.Create) (pod *modelPod, refused bool) {
	c.t.Helper()
	c.creates = append(c.creates, create)
	refused = c.refuseCreates > 0
	if refused {
		c.refuseCreates--
	}
	for _, pod := range c.pods {
		if pod.name == create.Name && !pod.gone {
			return pod, refused || pod.disowned
		}
	}
	if refused && !c.loseCreates {
		return nil, true
	}
	pod = c.newPod(create.Name)
	pod.attempt, pod.index, pod.failures, pod.ignored = create.Attempt, create.Index, create.Failures, create.Ignored
	c.changed(pod)
	c.checkActive(pod)
	return pod, refused
}

// checkActive asserts that a Pod just created is neither too many nor the second
// of its index, among those that Ostinato made.
func (c *cluster) checkActive(created *modelPod) {
	c.t.Helper()
	active := int32(0)
	for _, pod := range c.pods {
		if !pod.active() || pod.foreign {
			continue
		}
		active++
		if pod != created && created.index != nil && *pod.index == *created.index {
			c.t.Fatalf("Pods %s and %s of one index are active", pod.name, created.name)
		}
	}
	if active > c.spec.Parallelism {
		c.t.Fatalf("%d Pods are active, parallelism is %d", active, c.spec.Parallelism)
	}
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
	if verdict := recordedVerdict(status); verdict != recordedVerdict(c.status) && verdict.reason == "CompletionsReached" &&
		c.spec.Completions != nil && status.Succeeded < *c.spec.Completions {
		c.t.Fatalf("Complete with %d of %d completions", status.Succeeded, *c.spec.Completions)
	}
	c.status = status
	c.writes = append(c.writes, status)
	return ""
}

// deliver hands over all waiting facts.
func (c *cluster) deliver() *cluster {
	c.hear(c.mailbox...)
	c.mailbox = nil
	return c
}

func (c *cluster) hear(facts ...job.PodFact) {
	c.state = c.roundTrip(c.state.Observe(facts).Heard(c.now))
	if c.ledger != nil {
		c.ledger.hear(facts)
	}
}

// pass lets time go by.
func (c *cluster) pass(duration time.Duration) *cluster {
	c.now = c.now.Add(duration)
	return c
}

// listed takes in a list of the Job's Pods.
func (c *cluster) listed() {
	list := c.list(c.state.Undecided(), false)
	c.state = c.roundTrip(c.state.Listed(list, c.now))
	if c.ledger != nil {
		c.ledger.listed(list)
	}
}

// list is what the ListPods activity answers.
func (c *cluster) list(undecided []string, rebuild bool) job.List {
	var list job.List
	for _, pod := range c.pods {
		if pod.gone {
			continue
		}
		asked := slices.Contains(undecided, pod.uid)
		if pod.disowned && !asked {
			continue
		}
		list.Attempts = max(list.Attempts, pod.attempt)
		if !pod.terminal() || pod.tracked || asked || rebuild && pod.phase == "Failed" {
			list.Pods = append(list.Pods, pod.fact())
		}
	}
	return list
}

// restart is what happens to a Job whose workflow was lost.
func (c *cluster) restart() *cluster {
	c.mailbox, c.forgotten = nil, len(c.creates)
	c.state = job.NewState("default", "work", "uid-1")
	if c.ledger != nil {
		c.ledger.remembered = 0
	}
	c.rebuild()
	return c
}

// rebuild makes the State anew from what there is of the Job.
func (c *cluster) rebuild() {
	list := c.list(nil, c.indexed() && c.spec.BackoffLimitPerIndex != nil)
	if c.ledger != nil {
		c.ledger.restart(list)
	}
	c.state = c.roundTrip(job.Reconstruct(c.state, c.spec, c.status, list, c.now))
}

// roundTrip is what continue-as-new does to a State.
func (c *cluster) roundTrip(state job.State) job.State {
	c.t.Helper()
	if !c.roundTrips {
		return state
	}
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

func (c *cluster) indexed() bool { return c.spec.CompletionMode == batchv1.IndexedCompletion }

func (c *cluster) reasons() []string {
	reasons := []string{}
	for _, event := range c.events {
		reasons = append(reasons, event.Reason)
	}
	return reasons
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

func find(state job.State, uid string) *job.Pod {
	for i := range state.Pods {
		if state.Pods[i].UID == uid {
			return &state.Pods[i]
		}
	}
	return nil
}

func uidOf(number int) string { return fmt.Sprintf("pod-%d", number) }

func pointer[T any](value T) *T { return &value }
