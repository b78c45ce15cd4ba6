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

// maxActive is how many Pods a Job may run at a time, maxAttempts of how many that failed it keeps evidence.
const (
	maxActive   = job.MaxStatePods / 2
	maxAttempts = 20
)

// fatal is what both *testing.T and *rapid.T can do.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// cluster is a model of the API server, the node and the Job workflow around the
// planner. Facts wait in the mailbox until they are delivered.
type cluster struct {
	t    fatal
	spec job.Spec
	// policy is the Job's successPolicy.
	policy *batchv1.SuccessPolicy
	state  job.State
	now    time.Time

	status batchv1.JobStatus
	// counted is the annotation of the Pods that the status counts and that carry the
	// finalizer still.
	counted []string
	// byOthers are the counters that the API server notes as another controller's.
	byOthers job.ByOthers
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
	// logs is what becomes of the logs that releases ask for.
	logs logMode
	// roundTrips makes every State go through JSON.
	roundTrips bool
	// ledger counts along, where a test wants it to; before is what it was before the last plan,
	// where an accident is to come.
	ledger, before *ledger

	// recorded is set when the last plan was in the history before it was carried out.
	recorded bool
	// justListed is set when the Pods have just been listed.
	justListed bool
	// forgotten is how many of the creates were asked for by a workflow that was lost, or
	// by plans that may have been forgotten.
	forgotten int
	// crash is the accident to come, crashed that it has just happened, and unknown that
	// the status may be one that the workflow does not know of.
	crash            crash
	crashed, unknown bool
	// misled says that a create was refused which the Job does not prescribe.
	misled bool

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
		t: t, spec: spec, state: job.State{}.Of("default", "work", "uid-1"), now: start,
		roundTrips: true, handled: map[batchv1.PodFailurePolicyAction]int32{},
	}
}

// settle plans and carries out until there is nothing left to do.
func (c *cluster) settle() *cluster {
	c.t.Helper()
	c.crashed = false
	for range 100 {
		if c.crash.accident != diedAccident {
			c.record()
		}
		listed := c.justListed
		plan := c.plan()
		c.wake, c.waiting, c.finished = plan.Wake, plan.Waiting, plan.Finished
		if plan.Idle() {
			c.state = c.roundTrip(plan.Next)
			c.record()
			if listed {
				continue
			}
			return c
		}
		switch {
		case plan.Rebuild:
			c.rebuild()
		case plan.List:
			c.listed()
			c.justListed = true
		case plan.Terminate != "":
			if !c.terminate(plan) {
				return c
			}
		default:
			if !c.execute(plan) {
				return c
			}
		}
	}
	c.t.Fatalf("planning does not come to rest: %+v", job.Decide(c.state, c.spec, c.now))
	return c
}

func (c *cluster) plan() job.Plan {
	c.t.Helper()
	decide := job.Decide
	if c.justListed {
		c.justListed, decide = false, job.DecideListed
	}
	plan := decide(c.state, c.spec, c.now)
	c.checkPlan(plan)
	if rule, ok := job.MatchedRule(c.object(), plan.Judge); ok {
		c.state = c.roundTrip(plan.Matched(rule))
		plan = decide(c.state, c.spec, c.now)
		c.checkPlan(plan)
	}
	if c.ledger != nil {
		if c.crash.in > 0 {
			c.before = c.ledger.copied(c)
		}
		c.ledger.plan(plan)
	}
	return plan
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
	if plan.Status != nil {
		if err := job.ValidateStatus(*plan.Status); err != nil {
			c.t.Fatalf("no activity writes the status: %v", err)
		}
	}
	if err := event.Validate(plan.Events); err != nil {
		c.t.Fatalf("no activity emits the Events: %v", err)
	}
	for _, create := range plan.Creates {
		if c.indexed() != (create.Index != nil) {
			c.t.Fatalf("create %+v of a Job with completion mode %q", create, c.spec.CompletionMode)
		}
		for _, other := range c.creates[c.forgotten:] {
			sameIndex := create.Index == nil || *create.Index == *other.Index
			if (other.Name == create.Name) != (other.Attempt == create.Attempt && sameIndex) {
				c.t.Fatalf("creates %+v and %+v share a name or a number", other, create)
			}
		}
	}
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

// deliver hands over all waiting facts.
func (c *cluster) deliver() *cluster {
	c.hear(c.mailbox...)
	c.mailbox = nil
	return c
}

func (c *cluster) hear(facts ...job.PodFact) {
	if len(facts) == 0 {
		return
	}
	c.state = c.roundTrip(c.state.Observe(facts))
	if c.ledger != nil {
		heard := slices.Clone(facts)
		for i := range heard {
			// A list tells.
			heard[i].Tracked, heard[i].Removed, heard[i].Disowned = true, false, false
			known := c.ledger.pods[heard[i].UID]
			heard[i].Gone = heard[i].Gone && known != nil && !known.fact.Tracked
		}
		c.ledger.hear(heard)
	}
	c.record()
}

// pass lets time go by.
func (c *cluster) pass(duration time.Duration) *cluster {
	c.now = c.now.Add(duration)
	return c
}

// listed takes in a list of the Job's Pods.
func (c *cluster) listed() {
	list, before := c.list(c.state.Undecided(), false), c.state
	c.state = c.roundTrip(c.state.Listed(list, c.now))
	if c.ledger != nil {
		c.ledger.listed(list)
	}
	if c.record(); c.crash.in > 0 {
		c.crash.state, c.crash.list, c.crash.asked = before, &list, c.now
	}
}

// list is what the ListPods activity answers.
func (c *cluster) list(undecided []job.PodName, rebuild bool) job.List {
	list := job.List{Counted: c.counted}
	for _, pod := range c.pods {
		if pod.gone {
			continue
		}
		asked := slices.Contains(undecided, job.PodName{Name: pod.name, UID: pod.uid})
		if pod.disowned && !asked || pod.terminal() && !pod.tracked && !asked && !rebuild {
			continue
		}
		list.Attempts = max(list.Attempts, pod.attempt)
		if !pod.terminal() || pod.tracked || asked || c.indexed() && pod.phase == "Failed" {
			list.Facts = append(list.Facts, pod.fact())
		}
	}
	return list
}

// restart is what happens to a Job whose workflow was lost.
func (c *cluster) restart() *cluster {
	c.mailbox, c.forgotten = nil, len(c.creates)
	c.state = job.State{}.Of("default", "work", "uid-1")
	if c.ledger != nil {
		c.ledger.remembered = map[string]bool{}
	}
	c.rebuild()
	return c
}

// rebuild makes the State anew from what there is of the Job.
func (c *cluster) rebuild() {
	list := c.list(nil, true)
	if c.ledger != nil {
		c.ledger.restart(list)
	}
	c.state = c.roundTrip(job.Reconstruct(c.state, c.spec, c.status, list, c.now))
	c.unknown = false
	c.record()
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
